#include "backends/cluster/local_plan.h"

#include <algorithm>
#include <bit>

#include "backends/fold_order.h"
#include "core/assert.h"
#include "core/plan/builder.h"

namespace shardcheck::cluster {
namespace {

/// Tells two plans apart; it need not resist an adversary.
class Digest {
 public:
  void add(std::int64_t value) {
    state_ = std::rotl((state_ ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u, 29);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

/// Writes the local plan op by op.
class Division {
 public:
  Division(const Plan& plan, LocalPlan& local) : plan_(plan), local_(local), builder_(local.plan) {}

  void add(const Op& op) {
    choose(op);
    local_.crosses.push_back(crosses_);
    if (ranks_.empty()) {
      builder_.op(Ready{}, op.why, op.stream, {});  // an event that nobody hears of moves no byte
      return;
    }
    builder_.op(op.action, op.why, op.stream, ranks_);
    for (int operand = 0; operand < op.operands; ++operand) {
      const auto views = plan_.operand(op, operand);
      builder_.on_each([&](std::int32_t i) { return views[positions_[static_cast<std::size_t>(i)]]; });
    }
  }

 private:
  /// The positions in the op's list of ranks that stay here.
  void choose(const Op& op) {
    const auto ranks = plan_.ranks_of(op);
    const auto* communicate = std::get_if<Communicate>(&op.action);
    const auto size = communicate == nullptr ? std::size_t{1} : static_cast<std::size_t>(communicate->group);
    SC_ASSERT(size > 0 && ranks.size() % size == 0, "the ranks are not whole groups");
    positions_.clear();
    ranks_.clear();
    crosses_ = false;
    for (std::size_t first = 0; first < ranks.size(); first += size) {
      const auto group = ranks.subspan(first, size);
      if (local_.is_crossing(group)) {
        crosses_ = true;
        continue;
      }
      if (!local_.owned.holds(group.front())) continue;
      for (std::size_t i = first; i < first + size; ++i) {
        positions_.push_back(i);
        ranks_.push_back(local_.local(ranks[i]));
      }
    }
  }

  const Plan& plan_;
  LocalPlan& local_;
  PlanBuilder builder_;
  std::vector<std::size_t> positions_;
  std::vector<Rank> ranks_;
  bool crosses_ = false;
};

}  // namespace

std::uint64_t digest_of(const Plan& plan) {
  Digest digest;
  digest.add(plan.ranks);
  digest.add(static_cast<std::int64_t>(plan.poison));
  for (const Buffer& buffer : plan.buffers) {
    digest.add(static_cast<std::int64_t>(buffer.dtype));
    digest.add(buffer.numel);
  }
  for (const Op& op : plan.ops) {
    digest.add(static_cast<std::int64_t>(op.action.index()));
    for (Rank rank : plan.ranks_of(op)) digest.add(rank.value);
    for (int operand = 0; operand < op.operands; ++operand) {
      for (const View& view : plan.operand(op, operand)) {
        digest.add(view.buffer.value);
        digest.add(view.offset);
        digest.add(view.numel);
      }
    }
  }
  return digest.value();
}

Block block_of(std::int32_t ranks, Seat seat) {
  SC_ASSERT(seat.process >= 0 && seat.process < seat.processes, "there is no such process");
  const Fold fold{ranks, seat.processes};
  return {fold.first_rank_of(seat.process), fold.first_rank_of(seat.process + 1)};
}

bool LocalPlan::is_crossing(std::span<const Rank> group) const {
  const auto process = [&](Rank rank) { return process_of[static_cast<std::size_t>(rank.value)]; };
  return std::ranges::any_of(group, [&](Rank rank) { return process(rank) != process(group.front()); });
}

LocalPlan local_plan_of(const Plan& plan, Seat seat) {
  LocalPlan local;
  local.owned = block_of(plan.ranks, seat);
  for (int process = 0; process < seat.processes; ++process) {
    const Block block = block_of(plan.ranks, {process, seat.processes});
    local.process_of.insert(local.process_of.end(), static_cast<std::size_t>(block.count()), process);
  }
  local.digest = digest_of(plan);
  local.plan.ranks = local.owned.count();
  local.plan.poison = plan.poison;
  local.plan.parameters = plan.parameters;
  local.plan.buffers = plan.buffers;
  local.plan.events = plan.events;
  local.plan.ops.reserve(plan.ops.size());
  Division division(plan, local);
  for (const Op& op : plan.ops) division.add(op);
  return local;
}

}  // namespace shardcheck::cluster
