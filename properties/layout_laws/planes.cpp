#include "properties/layout_laws/planes.h"

#include <algorithm>

namespace shardcheck::laws {

using layout::Cut;
using layout::Segment;
using layout::Slot;

void judge_planes(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    for (const Slot& slot : group.rule.slots) {
      const std::int64_t numel = claim.parameter(slot.param).numel();
      if (slot.numel == numel) continue;
      report(findings, claim,
             {.law = "L14",
              .sentence = "its metadata describes a tensor of another size",
              .expected = numel,
              .actual = slot.numel},
             slot.param);
    }
    for (const Plane& plane : group.planes) {
      if (plane.shards.size() != group.shards.size()) {
        report(findings, claim,
               {.law = "L14",
                .sentence = "the plane " + plane.name + " is missing on some ranks",
                .expected = std::ssize(group.shards),
                .actual = std::ssize(plane.shards)});
        continue;
      }
      for (std::size_t s = 0; s < plane.shards.size(); ++s) {
        const auto& data = group.shards[s].segs;
        const auto& other = plane.shards[s].segs;
        const bool same = std::ranges::equal(data, other, [&](const Segment& a, const Segment& b) {
          return a.param == b.param && a.p_lo == b.p_lo * plane.block && a.p_hi == b.p_hi * plane.block &&
                 a.off == b.off * plane.block;
        });
        if (same) continue;
        report(findings, claim,
               {.law = "L14",
                .sentence = "the plane " + plane.name + " holds other elements than the data",
                .rank = static_cast<std::int32_t>(s / group.buckets())});
      }
    }
  }
}

void judge_wide(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  constexpr __int128 kLargest = INT64_MAX;
  for (const GroupClaim& group : claim.groups) {
    const bool apart = group.rule.cut == Cut::per_parameter || group.rule.cut == Cut::mesh;
    __int128 payload = 0;
    for (const Slot& slot : group.rule.slots) {
      __int128 numel = 1;
      for (const std::int64_t extent : claim.parameter(slot.param).shape) numel *= extent;
      payload += numel;
      const __int128 length = __int128{slot.hi} - slot.lo;
      const bool fits = apart ? length * group.rule.world >= numel : length == numel;
      if (numel <= kLargest && slot.numel == static_cast<std::int64_t>(numel) && fits && slot.lo >= 0)
        continue;
      report(findings, claim,
             {.law = "L26",
              .sentence = "its place differs from the 128-bit reference",
              .expected = static_cast<std::int64_t>(numel),
              .actual = slot.hi - slot.lo},
             slot.param);
    }
    if (__int128{group.rule.size} >= payload) continue;
    report(findings, claim,
           {.law = "L26",
            .sentence = "the buffer is smaller than what it holds",
            .expected = static_cast<std::int64_t>(payload),
            .actual = group.rule.size});
  }
}

}  // namespace shardcheck::laws
