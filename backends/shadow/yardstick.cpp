#include "backends/shadow/yardstick.h"

#include "backends/fold_order.h"

namespace shardcheck::shadowing {
namespace {

bool have_one_profile(const Sides& sides) {
  return sides.reference.profile == sides.candidate.profile && sides.reference.profile != "unknown";
}

/// The order of additions in which `info` reduces over `group`; that of another fold is another order.
bool adds_alike(const Plan& plan, std::span<const Rank> group, const Sides& sides) {
  if (group.size() <= 2) return true;  // one addition, which commutes
  const auto order = [&](const BackendInfo& info) {
    return reduction_order({.ranks = plan.ranks, .gpus = info.fold}, group);
  };
  const ReductionOrder a = order(sides.reference), b = order(sides.candidate);
  if (a != b || a == ReductionOrder::unknown) return false;
  return a == ReductionOrder::flat || sides.reference.fold == sides.candidate.fold;
}

struct YardstickOf {
  const Plan& plan;
  const Op& op;
  const Sides& sides;

  Yardstick operator()(const Allocate&) const { return Yardstick::none; }
  Yardstick operator()(const Undefine&) const { return Yardstick::none; }
  Yardstick operator()(const OpenLease&) const { return Yardstick::none; }
  Yardstick operator()(const Gemm& gemm) const {
    return gemm.tokens == 0 || have_one_profile(sides) ? Yardstick::bits : Yardstick::bounds;
  }
  Yardstick operator()(const Matmul&) const {
    return have_one_profile(sides) ? Yardstick::bits : Yardstick::unjudged;
  }
  Yardstick operator()(const Communicate& communicate) const {
    if (communicate.collective == Collective::all_gather) return Yardstick::bits;
    if (communicate.reduction == Reduction::maximum) return Yardstick::bits;  // the order says nothing
    const auto size = static_cast<std::size_t>(communicate.group);
    for (auto rest = plan.ranks_of(op); rest.size() >= size; rest = rest.subspan(size)) {
      if (!adds_alike(plan, rest.first(size), sides)) return Yardstick::bounds;
    }
    return Yardstick::bits;
  }
  template <class Other>
  Yardstick operator()(const Other& other) const {
    return access_of(other).writes == 0 ? Yardstick::none : Yardstick::bits;
  }
};

}  // namespace

Yardstick yardstick_of(const Plan& plan, const Op& op, const Sides& sides) {
  return std::visit(YardstickOf{plan, op, sides}, op.action);
}

}  // namespace shardcheck::shadowing
