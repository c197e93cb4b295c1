#include "properties/layout_laws/facts.h"

#include <algorithm>
#include <tuple>

namespace shardcheck::laws {

Facts::Facts(const Claim& of)
    : claim(of),
      first(of.asked.parameters.size() + 1, 0),
      groups(of.asked.parameters.size(), -1),
      slots(of.asked.parameters.size(), nullptr) {
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    for (const layout::Slot& slot : group.rule.slots) {
      groups[slot.param.value] = static_cast<std::int32_t>(g);
      slots[slot.param.value] = &slot;
    }
    for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
      if (!is_first_replica(group.rule, Rank{rank})) continue;
      for (std::size_t b = 0; b < group.buckets(); ++b) {
        for (const layout::Segment& segment : group.shard(rank, b).segs) {
          pieces.push_back({segment, static_cast<std::int32_t>(g), static_cast<std::int32_t>(b), Rank{rank}});
        }
      }
    }
  }
  std::ranges::sort(
      pieces, {}, [](const Piece& p) { return std::tuple(p.segment.param, p.segment.p_lo, p.segment.p_hi); });
  for (const Piece& piece : pieces) ++first[piece.segment.param.value + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
}

std::span<const Piece> Facts::pieces_of(ParamId param) const {
  return std::span(pieces).subspan(first[param.value], first[param.value + 1] - first[param.value]);
}

bool must_be_held(const Claim& claim, ParamId param) {
  const layout::Parameter& parameter = claim.parameter(param);
  return !parameter.tied_to && (parameter.requires_grad || !claim.layout->promises.trainable_only);
}

}  // namespace shardcheck::laws
