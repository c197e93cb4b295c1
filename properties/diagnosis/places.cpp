#include "properties/diagnosis/places.h"

namespace shardcheck {
namespace {

std::optional<std::int64_t> if_covered(std::int64_t offset, View view) {
  if (offset < view.offset || offset >= view.offset + view.numel) return std::nullopt;
  return offset;
}

}  // namespace

ElementPlaces::ElementPlaces(const Plan& plan, Element element) : plan_(plan), element_(element) {
  leased_.assign(plan.buffers.size(), -1);
  for (const Placement& placement : plan.placements) {
    if (const auto offset = offset_in(placement))
      spots_.push_back({placement.rank, placement.view.buffer, *offset});
  }
}

std::optional<std::int64_t> ElementPlaces::offset_in(const Placement& placement) const {
  const std::int64_t inside = element_.index - placement.first;
  if (placement.parameter != element_.parameter || inside < 0 || inside >= placement.view.numel)
    return std::nullopt;
  return placement.view.offset + inside;
}

void ElementPlaces::pass(const Op& op) {
  const auto* lease = std::get_if<OpenLease>(&op.action);
  if (lease == nullptr || op.ranks == 0) return;
  const View view = plan_.operand(op, 0)[0];
  auto& offset = leased_[static_cast<std::size_t>(view.buffer.value)];
  if (if_covered(offset, view)) offset = -1;  // another bucket's lease took the bytes
  if (lease->bucket < 0) return;
  for (const Placement& placement : plan_.buckets[static_cast<std::size_t>(lease->bucket)]) {
    if (const auto inside = offset_in(placement)) offset = view.offset + *inside;
  }
}

std::optional<std::int64_t> ElementPlaces::persistent(Rank rank, View view) const {
  for (const Spot& spot : spots_) {
    if (spot.buffer == view.buffer && (spot.rank.value < 0 || spot.rank == rank))
      return if_covered(spot.offset, view);
  }
  return std::nullopt;
}

std::optional<std::int64_t> ElementPlaces::find(const Op& op, Rank rank, View view) const {
  switch (plan_.buffer(view.buffer).role) {
    case BufferRole::lease_slot:
      return if_covered(leased_[static_cast<std::size_t>(view.buffer.value)], view);
    case BufferRole::param_grad:  // one buffer a parameter, as large as it
      if (op.why.parameter != element_.parameter) return std::nullopt;
      return if_covered(element_.index, view);
    case BufferRole::placeholder: {  // shared by all parameters of that size
      const auto& parameter = plan_.parameters[static_cast<std::size_t>(element_.parameter.value)];
      if (op.why.parameter.value < 0 || plan_.buffer(view.buffer).numel != parameter.numel())
        return std::nullopt;
      return if_covered(element_.index, view);
    }
    default: return persistent(rank, view);
  }
}

}  // namespace shardcheck
