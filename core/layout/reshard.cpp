#include "core/layout/reshard.h"

#include <algorithm>

#include "core/assert.h"

namespace shardcheck::layout {
namespace {

Spot spot_of(const Holding& holding) {
  return {holding.buffer, holding.bucket, holding.rank, holding.off};
}

}  // namespace

ReshardCursor::ReshardCursor(const Ownership& from, const Ownership& to, ParamId param)
    : from_(from), to_(to), param_(param) {
  SC_ASSERT(from.holds(param) && to.holds(param), "a parameter that one side does not hold cannot move");
  SC_ASSERT(from.numel(param) == to.numel(param), "the two sides hold different tensors");
}

std::optional<Copy> ReshardCursor::next() {
  if (element_ == to_.numel(param_)) {
    element_ = 0;
    ++replica_;
  }
  if (to_.numel(param_) == 0 || replica_ == to_.replicas(param_)) return std::nullopt;
  const Holding from = from_.at(param_, element_, 0);
  const Holding to = to_.at(param_, element_, replica_);
  const std::int64_t end = std::min(from.p_hi, to.p_hi);
  const Copy copy{param_, element_, end - element_, spot_of(from), spot_of(to)};
  element_ = end;
  return copy;
}

std::vector<Copy> reshard_plan(const Ownership& from, const Ownership& to,
                               std::span<const Parameter> parameters) {
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParamId param{static_cast<std::int32_t>(i)};
    if (parameters[i].tied_to || !from.holds(param) || !to.holds(param)) continue;
    ReshardCursor cursor(from, to, param);
    while (const auto copy = cursor.next()) copies.push_back(*copy);
  }
  return copies;
}

}  // namespace shardcheck::layout
