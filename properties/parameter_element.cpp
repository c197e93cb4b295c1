#include "properties/parameter_element.h"

#include <algorithm>
#include <optional>
#include <span>

namespace shardcheck {
namespace {

/// Where a lease that holds the place was opened last before the op: its view.
struct Lease {
  View view;
  std::int32_t bucket;
};
std::optional<Lease> lease_at(const Plan& plan, const BufferElement& place) {
  for (std::int32_t i = place.op.value; i-- > 0;) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const auto* open = std::get_if<OpenLease>(&op.action);
    if (open == nullptr) continue;
    const auto ranks = plan.ranks_of(op);
    const auto found = std::ranges::find(ranks, place.rank);
    if (found == ranks.end()) continue;
    const View view = plan.operand(op, 0)[static_cast<std::size_t>(found - ranks.begin())];
    const bool holds =
        view.buffer == place.buffer && place.offset >= view.offset && place.offset < view.offset + view.numel;
    if (holds) return Lease{view, open->bucket};
  }
  return std::nullopt;
}

/// `begin` is where the views of the placements count from.
std::optional<ParameterElement> find_in(std::span<const Placement> placements, const BufferElement& place,
                                        std::int64_t begin) {
  for (const Placement& p : placements) {
    const std::int64_t inside = place.offset - begin - p.view.offset;
    const bool on_rank = p.rank.value < 0 || p.rank == place.rank;
    if (on_rank && inside >= 0 && inside < p.view.numel)
      return ParameterElement{p.parameter, p.first + inside};
  }
  return std::nullopt;
}

std::optional<ParameterElement> find_persistent(const Plan& plan, const BufferElement& place) {
  for (const Placement& p : plan.placements) {
    if (p.view.buffer != place.buffer) continue;
    if (const auto found = find_in({&p, 1}, place, 0)) return found;
  }
  return std::nullopt;
}

}  // namespace

ParameterElement parameter_element(const Plan& plan, const BufferElement& place) {
  const ParamId own = plan.ops[static_cast<std::size_t>(place.op.value)].why.parameter;
  switch (plan.buffer(place.buffer).role) {
    case BufferRole::lease_slot: {
      const auto lease = lease_at(plan, place);
      if (!lease || lease->bucket < 0) return {own, -1};
      const auto& bucket = plan.buckets[static_cast<std::size_t>(lease->bucket)];
      return find_in(bucket, place, lease->view.offset).value_or(ParameterElement{own, -1});
    }
    case BufferRole::param_grad:
    case BufferRole::placeholder: return {own, own.value < 0 ? -1 : place.offset};
    default: return find_persistent(plan, place).value_or(ParameterElement{own, -1});
  }
}

}  // namespace shardcheck
