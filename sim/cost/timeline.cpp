#include "sim/cost/timeline.h"

#include <algorithm>
#include <array>

namespace shardcheck::cost {
namespace {

double bytes_of_operand(const Plan& plan, const Op& op, int operand) {
  const View view = plan.operand(op, operand)[0];
  return static_cast<double>(view.numel) * bytes_of(plan.buffer(view.buffer).dtype);
}

/// Bytes read and written on the op's first rank.
struct Touched {
  double on_device = 0, on_host = 0;
};
Touched bytes_touched(const Plan& plan, const Op& op) {
  const Access access = access_of(op.action);
  Touched bytes;
  for (int operand = 0; operand < op.operands; ++operand) {
    const int times = (access.reads >> operand & 1) + (access.writes >> operand & 1);
    if (times == 0) continue;
    const bool is_on_host = plan.buffer(plan.operand(op, operand)[0].buffer).on_host;
    (is_on_host ? bytes.on_host : bytes.on_device) += times * bytes_of_operand(plan, op, operand);
  }
  return bytes;
}

double transfer_seconds(const Plan& plan, const Op& op, const Communicate& communicate, const Gpu& gpu) {
  if (communicate.group < 2) return gpu.launch;
  const double whole = std::max(bytes_of_operand(plan, op, 0), bytes_of_operand(plan, op, 1));
  const double share = static_cast<double>(communicate.group - 1) / communicate.group;
  const double rounds = communicate.collective == Collective::all_reduce ? 2 : 1;
  return gpu.collective + rounds * share * whole / gpu.link_bytes_per_second;
}

/// When every stream of every rank is free, and when every event was recorded.
class Clock {
 public:
  explicit Clock(const Plan& plan)
      : free_(static_cast<std::size_t>(plan.ranks)),
        events_(static_cast<std::size_t>(plan.events)),
        recorded_(static_cast<std::size_t>(plan.ranks) * events_) {}

  double& free(Rank rank, Stream stream) {
    return free_[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(stream)];
  }
  double& recorded(Rank rank, EventId event) {
    return recorded_[static_cast<std::size_t>(rank.value) * events_ + static_cast<std::size_t>(event.value)];
  }

 private:
  std::vector<std::array<double, kStreams>> free_;
  std::size_t events_;
  std::vector<double> recorded_;
};

}  // namespace

double product_seconds(const Product& product, double bytes, const Gpu& gpu) {
  const double flops = 2 * product.m * product.n * product.k;
  return gpu.launch +
         std::max(flops / (product.is_8bit ? gpu.flops_8bit : gpu.flops_16bit), bytes / gpu.bytes_per_second);
}

double touch_seconds(double bytes, const Gpu& gpu) {
  return gpu.launch + bytes / gpu.bytes_per_second;
}

double seconds_of(const Plan& plan, const Op& op, const Gpu& gpu) {
  const Touched bytes = bytes_touched(plan, op);
  if (const auto* communicate = std::get_if<Communicate>(&op.action))
    return transfer_seconds(plan, op, *communicate, gpu);
  if (const auto* gemm = std::get_if<Gemm>(&op.action)) {
    return product_seconds({static_cast<double>(gemm->rows), static_cast<double>(gemm->columns),
                            static_cast<double>(gemm->tokens), false},
                           bytes.on_device, gpu);
  }
  if (const auto* matmul = std::get_if<Matmul>(&op.action)) {
    const bool is_8bit = matmul->scales_a != ScaleKind::none;
    return product_seconds({static_cast<double>(matmul->m), static_cast<double>(matmul->n),
                            static_cast<double>(matmul->k), is_8bit},
                           bytes.on_device, gpu);
  }
  return std::max(touch_seconds(bytes.on_device, gpu),
                  gpu.launch + bytes.on_host / gpu.host_bytes_per_second);
}

std::vector<Span> timeline_of(const Plan& plan, const Gpu& gpu) {
  Clock clock(plan);
  std::vector<Span> spans;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const auto ranks = plan.ranks_of(op);
    if (const auto* record = std::get_if<Record>(&op.action)) {
      for (Rank rank : ranks) clock.recorded(rank, record->event) = clock.free(rank, op.stream);
    } else if (const auto* wait = std::get_if<Wait>(&op.action)) {
      for (Rank rank : ranks) {
        double& free = clock.free(rank, op.stream);
        free = std::max(free, clock.recorded(rank, wait->event));
      }
    } else if (!is_event(op.action) && !std::holds_alternative<Allocate>(op.action)) {
      const double seconds = seconds_of(plan, op, gpu);
      const auto* communicate = std::get_if<Communicate>(&op.action);
      const std::size_t group = communicate != nullptr ? static_cast<std::size_t>(communicate->group) : 1;
      for (std::size_t first = 0; first < ranks.size(); first += group) {
        double begin = 0;
        for (Rank rank : ranks.subspan(first, group)) begin = std::max(begin, clock.free(rank, op.stream));
        for (Rank rank : ranks.subspan(first, group)) {
          clock.free(rank, op.stream) = begin + seconds;
          spans.push_back({OpIndex{i}, rank, begin, begin + seconds});
        }
      }
    }
  }
  return spans;
}

void add_instants(const Plan& plan, const std::set<OpIndex>& ops, std::vector<Span>& spans) {
  std::vector<double> ends(static_cast<std::size_t>(plan.ranks * kStreams));
  const auto end_of = [&](Rank rank, OpIndex op) -> double& {
    const auto stream = static_cast<std::int32_t>(plan.ops[static_cast<std::size_t>(op.value)].stream);
    return ends[static_cast<std::size_t>(rank.value * kStreams + stream)];
  };
  std::vector<Span> all;
  auto next = spans.cbegin();
  const auto take_until = [&](OpIndex op) {
    for (; next != spans.cend() && next->op < op; ++next) {
      end_of(next->rank, next->op) = next->end;
      all.push_back(*next);
    }
  };
  for (const OpIndex op : ops) {
    take_until(op);
    const bool takes_time = next != spans.cend() && next->op == op;
    if (op.value < 0 || takes_time) continue;
    for (const Rank rank : plan.ranks_of(plan.ops[static_cast<std::size_t>(op.value)]))
      all.push_back({op, rank, end_of(rank, op), end_of(rank, op)});
  }
  take_until(OpIndex{static_cast<std::int32_t>(plan.ops.size())});
  spans = std::move(all);
}

}  // namespace shardcheck::cost
