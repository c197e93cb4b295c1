#include "properties/protocol_trace.h"

#include <algorithm>
#include <bit>

namespace shardcheck {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * 0x9E3779B97F4A7C15u, 29);
}

struct DetailOf {
  std::uint64_t operator()(const Gemm& gemm) const {
    return mix(static_cast<std::uint64_t>(gemm.tokens), static_cast<std::uint64_t>(gemm.accumulate));
  }
  std::uint64_t operator()(const Flag& flag) const { return static_cast<std::uint64_t>(flag.value); }
  std::uint64_t operator()(const Return& returned) const { return static_cast<std::uint64_t>(returned.what); }
  std::uint64_t operator()(const Hook& hook) const { return static_cast<std::uint64_t>(hook.action); }
  std::uint64_t operator()(const Scale& scale) const { return std::bit_cast<std::uint32_t>(scale.factor); }
  std::uint64_t operator()(const Communicate& c) const {
    return mix(static_cast<std::uint64_t>(c.collective) << 8 | static_cast<std::uint64_t>(c.reduction),
               static_cast<std::uint64_t>(c.group));
  }
  template <class Other>
  std::uint64_t operator()(const Other&) const {
    return 0;
  }
};

/// What happens to gradients before anything is reduced.
bool is_local(const Op& op) {
  if (std::holds_alternative<OpenLease>(op.action) || std::holds_alternative<Acquire>(op.action)) return true;
  if (op.why.parameter.value < 0) return false;
  return op.why.purpose == Purpose::write || op.why.purpose == Purpose::fold ||
         op.why.purpose == Purpose::dummy || op.why.purpose == Purpose::none;
}

/// Marks, and the order between streams.
bool says_nothing(const Action& action) {
  return std::holds_alternative<Record>(action) || std::holds_alternative<Wait>(action) ||
         std::holds_alternative<Allocate>(action) || std::holds_alternative<BeginGraph>(action) ||
         std::holds_alternative<EndGraph>(action) || std::holds_alternative<BeginMicrobatch>(action) ||
         std::holds_alternative<BeginRecompute>(action) || std::holds_alternative<EndRecompute>(action);
}

std::uint64_t key_of(const Plan& plan, const Op& op) {
  std::uint64_t key = mix(op.action.index(), std::visit(DetailOf{}, op.action));
  key = mix(key, static_cast<std::uint64_t>(op.why.purpose) << 8 | static_cast<std::uint64_t>(op.why.rule));
  key = mix(key, static_cast<std::uint32_t>(op.why.parameter.value));
  if (is_local(op))
    key = mix(key, static_cast<std::uint64_t>(static_cast<std::uint16_t>(op.why.microbatch)) << 16 |
                       static_cast<std::uint16_t>(op.why.use));
  for (Rank rank : plan.ranks_of(op)) key = mix(key, static_cast<std::uint64_t>(rank.value));
  for (int operand = 0; operand < op.operands; ++operand) {
    for (const View& view : plan.operand(op, operand)) {
      const bool recycled = plan.buffer(view.buffer).role == BufferRole::lease_slot;
      key = mix(key, recycled ? 0u : 1u + static_cast<std::uint64_t>(view.buffer.value));
      key = mix(key, static_cast<std::uint64_t>(view.offset) << 24 ^ static_cast<std::uint64_t>(view.numel));
    }
  }
  return key;
}

}  // namespace

std::vector<StepTrace> trace(const Plan& plan) {
  std::vector<StepTrace> steps;
  StepTrace now;
  bool inside = false;
  for (std::int32_t i = 0; i < std::ssize(plan.ops); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    if (std::holds_alternative<BeginStep>(op.action)) {
      now = {};
      inside = true;
    } else if (std::holds_alternative<Interrupt>(op.action)) {
      inside = false;
    } else if (std::holds_alternative<EndStep>(op.action)) {
      std::ranges::stable_sort(now.reduced, {}, &TracedOp::key);
      steps.push_back(std::move(now));
      inside = false;
    } else if (inside && !says_nothing(op.action)) {
      (is_local(op) ? now.local : now.reduced).push_back({key_of(plan, op), OpIndex{i}});
    }
  }
  return steps;
}

std::optional<TraceDifference> first_difference(const Plan& plan, const Plan& fresh) {
  const std::vector<StepTrace> of_plan = trace(plan), of_fresh = trace(fresh);
  const auto equal = [](const TracedOp& a, const TracedOp& b) { return a.key == b.key; };
  for (std::size_t s = 0; s < std::min(of_plan.size(), of_fresh.size()); ++s) {
    for (const auto part : {&StepTrace::local, &StepTrace::reduced}) {
      const auto& ops = of_plan[s].*part;
      const auto& others = of_fresh[s].*part;
      const auto [at, other] = std::mismatch(ops.begin(), ops.end(), others.begin(), others.end(), equal);
      if (at == ops.end() && other == others.end()) continue;
      if (ops.empty()) return TraceDifference{OpIndex{0}, static_cast<std::int32_t>(s)};
      return TraceDifference{(at == ops.end() ? ops.back() : *at).op, static_cast<std::int32_t>(s)};
    }
  }
  return std::nullopt;
}

}  // namespace shardcheck
