#include "backends/cluster/crossing.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "core/error.h"

namespace shardcheck::cluster {
namespace {

/// Bytes of one piece over all ranks of a group. It takes milliseconds, beside which a round trip is little.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 22;

[[noreturn]] void refuse_size(const Occasion& occasion, std::size_t process) {
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cluster: process {} sent another number of bytes than the plan says while {}",
                          process, to_text(occasion)));
}

}  // namespace

/// One group of the op, in the order of the op's list of ranks.
struct CrossingUnit::Group {
  const LocalPlan& share;
  const Communicate& communicate;
  Occasion occasion;
  std::span<const Rank> ranks;
  std::span<const View> inputs, outputs;
  DType dtype;

  std::int64_t size() const { return bytes_of(dtype); }
  std::int64_t count() const { return std::ssize(ranks); }
  bool scatters() const { return communicate.collective == Collective::reduce_scatter; }
  bool gathers() const { return communicate.collective == Collective::all_gather; }
  /// Parts of an input that a piece takes its elements from.
  std::int64_t parts() const { return scatters() ? count() : 1; }
  std::int64_t part_numel() const { return inputs[0].numel / parts(); }
  bool owns(std::size_t position) const { return share.owned.holds(ranks[position]); }
  int process(std::size_t position) const {
    return share.process_of[static_cast<std::size_t>(ranks[position].value)];
  }

  void check(const Plan& plan) const {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      SC_ASSERT(inputs[i].numel == inputs[0].numel && outputs[i].numel == outputs[0].numel,
                "sizes differ between ranks");
      SC_ASSERT(plan.buffer(inputs[i].buffer).dtype == dtype && plan.buffer(outputs[i].buffer).dtype == dtype,
                "types differ within a collective");
    }
    const std::int64_t expected = gathers() ? inputs[0].numel * count() : part_numel();
    SC_ASSERT(outputs[0].numel == expected && part_numel() * parts() == inputs[0].numel,
              "an output has not the size that its input asks for");
  }
};

void CrossingUnit::run(const Plan& plan, OpIndex index, const LocalPlan& share) {
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
  const auto& communicate = std::get<Communicate>(op.action);
  const auto size = static_cast<std::size_t>(communicate.group);
  const auto ranks = plan.ranks_of(op);
  const auto inputs = plan.operand(op, 0), outputs = plan.operand(op, 1);
  for (std::size_t first = 0; first < ranks.size(); first += size) {
    if (!share.is_crossing(ranks.subspan(first, size))) continue;
    const Group group{.share = share,
                      .communicate = communicate,
                      .occasion = {"exchanging operands of op", index.value, share.digest},
                      .ranks = ranks.subspan(first, size),
                      .inputs = inputs.subspan(first, size),
                      .outputs = outputs.subspan(first, size),
                      .dtype = plan.buffer(inputs[first].buffer).dtype};
    group.check(plan);
    run_group(group);
  }
}

void CrossingUnit::run_group(const Group& group) {
  read_inputs(group);
  const std::int64_t bytes_an_element = group.count() * group.parts() * group.size();
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / bytes_an_element);
  for (std::int64_t first = 0; first < group.part_numel(); first += most) {
    const Piece piece{first, std::min(first + most, group.part_numel())};
    locate(group, piece, exchange(group, piece));
    deliver(group, piece);
  }
}

/// Whole inputs at once: an output may lie anywhere inside an input, and is written piece by piece.
void CrossingUnit::read_inputs(const Group& group) {
  const auto bytes = static_cast<std::size_t>(group.inputs[0].numel * group.size());
  inputs_.clear();
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    if (!group.owns(i)) continue;
    inputs_.resize(inputs_.size() + bytes);
    local_.read(group.share.plan, group.share.local(group.ranks[i]), group.inputs[i],
                std::span(inputs_).last(bytes));
  }
}

const Gathered& CrossingUnit::exchange(const Group& group, Piece piece) {
  mine_.clear();
  const std::int64_t part_bytes = group.part_numel() * group.size();
  for (std::int64_t part = 0; part * part_bytes < std::ssize(inputs_); ++part) {
    const auto* begin = inputs_.data() + part * part_bytes;
    mine_.insert(mine_.end(), begin + piece.first * group.size(), begin + piece.last * group.size());
  }
  return transport_.all_gather(mine_, group.occasion);
}

/// Finds every rank's piece in what came; a process sends those of its ranks one after the other.
void CrossingUnit::locate(const Group& group, Piece piece, const Gathered& gathered) {
  const auto bytes = static_cast<std::uint64_t>(group.parts() * piece.numel() * group.size());
  std::vector<std::uint64_t> used(gathered.sizes.size(), 0);
  pieces_.clear();
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    const auto process = static_cast<std::size_t>(group.process(i));
    if (used[process] + bytes > gathered.sizes[process]) refuse_size(group.occasion, process);
    pieces_.push_back(gathered.of(group.process(i)).data() + used[process]);
    used[process] += bytes;
  }
  for (std::size_t process = 0; process < used.size(); ++process) {
    if (used[process] != gathered.sizes[process]) refuse_size(group.occasion, process);
  }
}

/// result_ := the sum over all ranks of `piece.numel()` elements that begin at `offset` of what they sent.
void CrossingUnit::reduce(const Group& group, std::int64_t offset, Piece piece) {
  result_.resize(static_cast<std::size_t>(piece.numel() * group.size()));
  ranges_.clear();
  for (const std::byte* bytes : pieces_) {
    auto* begin = const_cast<std::byte*>(bytes + offset * group.size());  // an input is only read
    ranges_.push_back({begin, group.dtype, piece.numel()});
  }
  results_.assign(ranges_.size(), cpu::Range{result_.data(), group.dtype, piece.numel()});
  Communicate sum = group.communicate;
  sum.collective = Collective::all_reduce;
  const auto ranks = static_cast<std::int32_t>(group.share.process_of.size());
  arithmetic_.run(sum, {group.ranks, ranges_, results_}, Fold{ranks, 1});  // the plan's own order
}

void CrossingUnit::deliver(const Group& group, Piece piece) {
  bool is_reduced = false;
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    if (!group.owns(i)) continue;
    const View& output = group.outputs[i];
    if (group.gathers()) {
      for (std::size_t from = 0; from < pieces_.size(); ++from) {
        const std::int64_t begin = static_cast<std::int64_t>(from) * group.part_numel() + piece.first;
        write(group, i, {output.buffer, output.offset + begin, piece.numel()}, pieces_[from]);
      }
      continue;
    }
    const std::int64_t part = group.scatters() ? static_cast<std::int64_t>(i) : 0;
    if (group.scatters() || !is_reduced) reduce(group, part * piece.numel(), piece);
    is_reduced = true;
    write(group, i, {output.buffer, output.offset + piece.first, piece.numel()}, result_.data());
  }
}

void CrossingUnit::write(const Group& group, std::size_t position, View view, const std::byte* bytes) {
  local_.write(group.share.plan, group.share.local(group.ranks[position]), view,
               {bytes, static_cast<std::size_t>(view.numel * group.size())});
}

}  // namespace shardcheck::cluster
