#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/block_ops.h"
#include "backends/cpu/casts.h"
#include "backends/cpu/collectives.h"
#include "backends/cpu/elementwise.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/matmul.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/on_threads.h"
#include "backends/protocol_event.h"
#include "core/assert.h"
#include "core/digest.h"

namespace shardcheck {
namespace {

class CpuBackend final : public Backend, public Digesting {
 public:
  CpuBackend(const ArithmeticProfile& profile, std::int32_t gpus) : profile_(profile), gpus_(gpus) {
    SC_ASSERT(gpus >= 1, "ranks are folded onto one GPU at least");
  }

  BackendInfo info() const override {
    return {"cpu", "virtual ranks in one process", std::string(profile_.name), gpus_};
  }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override;
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override;
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override;
  std::vector<std::uint64_t> digests(const Plan& plan, std::span<const Rank> ranks,
                                     std::span<const View> views) override;

 private:
  struct Run;

  const ArithmeticProfile& profile_;
  cpu::Memory memory_;
  std::vector<cpu::GemmUnit> gemms_;  ///< one for each rank of an op, which may run side by side
  std::int32_t gpus_;
  cpu::CollectiveUnit collectives_;
  std::vector<cpu::Range> inputs_, outputs_;  ///< operands of the collective at hand
};

/// Executes one op: what each kind of action means on the op's ranks.
struct CpuBackend::Run {
  CpuBackend& self;
  const Plan& plan;
  const Op& op;

  /// Operand `operand` on the i-th rank of the op.
  cpu::Range range(int operand, std::size_t i) const {
    SC_ASSERT(operand < op.operands, "an op lacks an operand");
    return self.memory_.at(plan, plan.ranks_of(op)[i], plan.operand(op, operand)[i]);
  }
  /// Ranks side by side where the op is large: no rank touches another's memory.
  template <class Body>
  void on_each_rank(Body body) const {
    std::int64_t bytes = 0;
    for (int operand = 0; operand < op.operands; ++operand) {
      const View& view = plan.operand(op, operand)[0];
      bytes += view.numel * bytes_of(plan.buffer(view.buffer).dtype);
    }
    cpu::on_threads({op.ranks, bytes * op.ranks}, [&](std::int64_t i) { body(static_cast<std::size_t>(i)); });
  }
  cpu::SourceTo source_to(std::size_t i) const { return {range(0, i), range(1, i)}; }
  cpu::ScaledRanges scaled(std::size_t i) const { return {range(0, i), range(1, i), range(2, i)}; }
  void poison() const {
    on_each_rank([&](std::size_t i) { fill_with_poison(range(0, i), plan.poison); });
  }

  void operator()(const Allocate&) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      self.memory_.allocate(plan, plan.ranks_of(op)[i], plan.operand(op, 0)[i].buffer);
    }
    on_each_rank([&](std::size_t i) {
      const BufferId id = plan.operand(op, 0)[i].buffer;
      fill_with_poison(self.memory_.at(plan, plan.ranks_of(op)[i], {id, 0, plan.buffer(id).numel}),
                       plan.poison);
    });
  }
  void operator()(const Undefine&) const { poison(); }
  void operator()(const OpenLease&) const { poison(); }
  void operator()(const Fill& fill) const {
    on_each_rank([&](std::size_t i) { cpu::fill(range(0, i), fill.value); });
  }
  void operator()(const Gemm& gemm) const {
    while (std::ssize(self.gemms_) < op.ranks) self.gemms_.emplace_back(self.profile_);
    on_each_rank([&](std::size_t i) { self.gemms_[i].run(gemm, {range(0, i), range(1, i), range(2, i)}); });
  }
  void operator()(const Copy&) const {
    on_each_rank([&](std::size_t i) { cpu::copy(source_to(i)); });
  }
  void operator()(const Cast& cast) const {
    on_each_rank([&](std::size_t i) { cpu::cast(source_to(i), cpu::policy_of(cast.policy)); });
  }
  void operator()(const Quantize& quantize) const {
    on_each_rank([&](std::size_t i) { cpu::quantize(scaled(i), cpu::policy_of(quantize.policy)); });
  }
  void operator()(const Dequantize&) const {
    on_each_rank([&](std::size_t i) { cpu::dequantize(scaled(i)); });
  }
  void operator()(const TakeAmax& take) const {
    on_each_rank([&](std::size_t i) { cpu::take_amax(take, {range(0, i), range(1, i)}); });
  }
  void operator()(const ScaleFromAmax& scale) const {
    on_each_rank([&](std::size_t i) {
      cpu::scale_from_amax(scale, {range(0, i), range(1, i), range(2, i)});
    });
  }
  void operator()(const QuantizeBlocks& quantize) const {
    on_each_rank([&](std::size_t i) { cpu::quantize_blocks(quantize, scaled(i)); });
  }
  void operator()(const DequantizeBlocks& dequantize) const {
    on_each_rank([&](std::size_t i) { cpu::dequantize_blocks(dequantize, scaled(i)); });
  }
  void operator()(const QuantizeMatrix& quantize) const {
    on_each_rank([&](std::size_t i) {
      cpu::quantize_matrix(quantize, range(0, i), {range(1, i), range(2, i)}, {range(3, i), range(4, i)});
    });
  }
  void operator()(const DeriveColumnCopy& derive) const {
    on_each_rank([&](std::size_t i) {
      cpu::derive_column_copy(derive, {range(0, i), range(1, i)}, {range(2, i), range(3, i)});
    });
  }
  void operator()(const CloseDelayedStep& close) const {
    on_each_rank([&](std::size_t i) {
      cpu::close_delayed_step(close, {range(0, i), range(1, i), range(2, i)});
    });
  }
  void operator()(const Matmul& matmul) const {
    on_each_rank([&](std::size_t i) {
      cpu::matmul(self.profile_, matmul, {range(0, i), range(1, i), range(2, i), range(3, i), range(4, i)});
    });
  }
  void operator()(const Add&) const {
    on_each_rank([&](std::size_t i) { cpu::add(source_to(i)); });
  }
  void operator()(const Scale& scale) const {
    on_each_rank([&](std::size_t i) { cpu::scale(range(0, i), scale.factor); });
  }
  void operator()(const SgdStep& sgd) const {
    on_each_rank([&](std::size_t i) { cpu::sgd_step(source_to(i), sgd.rate); });
  }
  void operator()(const Communicate& communicate) const {
    self.inputs_.clear();
    self.outputs_.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      self.inputs_.push_back(range(0, i));
      self.outputs_.push_back(range(1, i));
    }
    self.collectives_.run(communicate, {plan.ranks_of(op), self.inputs_, self.outputs_},
                          {plan.ranks, self.gpus_});
  }
  /// Order between streams is the plan's order here.
  void operator()(const Record&) const {}
  void operator()(const Wait&) const {}
  template <ProtocolEvent Event>
  void operator()(const Event&) const {}
};

void CpuBackend::execute(const Plan& plan, OpIndex first, OpIndex last) {
  SC_ASSERT(first.value >= 0 && first <= last && static_cast<std::size_t>(last.value) <= plan.ops.size(),
            "the plan has no such ops");
  if (first.value == 0) memory_.start(plan);
  for (auto i = static_cast<std::size_t>(first.value); i < static_cast<std::size_t>(last.value); ++i) {
    const Op& op = plan.ops[i];
    std::visit(Run{*this, plan, op}, op.action);
  }
  memory_.finish();
}

void CpuBackend::write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) {
  memory_.allocate_for_write(plan, rank, view.buffer);
  const cpu::Range range = memory_.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  std::copy(bytes.begin(), bytes.end(), range.data);
}

void CpuBackend::read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) {
  const cpu::Range range = memory_.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  std::copy_n(range.data, bytes.size(), bytes.begin());
}

std::vector<std::uint64_t> CpuBackend::digests(const Plan& plan, std::span<const Rank> ranks,
                                               std::span<const View> views) {
  SC_ASSERT(ranks.size() == views.size(), "a rank for every view");
  std::vector<cpu::Range> ranges;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    ranges.push_back(memory_.at(plan, ranks[i], views[i]));
    bytes += ranges.back().bytes();
  }
  std::vector<std::uint64_t> all(views.size());
  cpu::on_threads({std::ssize(views), bytes}, [&](std::int64_t i) {
    const cpu::Range& range = ranges[static_cast<std::size_t>(i)];
    all[static_cast<std::size_t>(i)] =
        digest_of(range.dtype, {range.data, static_cast<std::size_t>(range.bytes())});
  });
  return all;
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const ArithmeticProfile& profile) {
  return make_cpu_backend(profile, 1);
}

std::unique_ptr<Backend> make_cpu_backend(const ArithmeticProfile& profile, std::int32_t gpus) {
  return std::make_unique<CpuBackend>(profile, gpus);
}

}  // namespace shardcheck
