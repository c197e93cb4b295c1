// The interval laws against their slow oracle: owners counted element by element, on claims with random
// damage.
#include "properties/layout_laws/cover.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "properties/generate/draw.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::laws {
namespace {

/// True when every element of every tensor that must be held has exactly one owner of the first replica.
bool is_covered(const Claim& claim) {
  for (std::int32_t i = 0; i < std::ssize(claim.asked.parameters); ++i) {
    if (!must_be_held(claim, ParamId{i})) continue;
    std::vector<int> owners(static_cast<std::size_t>(claim.parameter(ParamId{i}).numel()), 0);
    for (const GroupClaim& group : claim.groups) {
      for (std::size_t s = 0; s < group.shards.size(); ++s) {
        if (!is_first_replica(group.rule, Rank{static_cast<std::int32_t>(s / group.buckets())})) continue;
        for (const layout::Segment& segment : group.shards[s].segs) {
          if (segment.param != ParamId{i}) continue;
          for (std::int64_t e = segment.p_lo; e < segment.p_hi; ++e) {
            if (e < 0 || e >= std::ssize(owners)) return false;
            ++owners[e];
          }
        }
      }
    }
    if (std::ranges::any_of(owners, [](int count) { return count != 1; })) return false;
  }
  return true;
}

/// Moves an end of one segment, drops it, or gives it away twice.
void damage(Draw& draw, Claim& claim) {
  GroupClaim& group = claim.groups[draw.below(static_cast<std::int32_t>(claim.groups.size()))];
  auto& shard = group.shards[draw.below(static_cast<std::int32_t>(group.shards.size()))];
  if (shard.segs.empty()) return;
  layout::Segment& segment = shard.segs[draw.below(static_cast<std::int32_t>(shard.segs.size()))];
  switch (draw.below(4)) {
    case 0: segment.p_lo += draw.below(3) - 1; break;
    case 1: segment.p_hi += draw.below(3) - 1; break;
    case 2: shard.segs.pop_back(); break;
    default: group.shards.back().segs.push_back(segment);
  }
}

TEST(Cover, AgreesWithCountingOwners) {
  Draw draw(9);
  int broken = 0, whole = 0;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    const Case drawn = random_case(9, i);
    const bool small =
        std::ranges::all_of(drawn.asked.parameters, [](const auto& p) { return p.numel() <= 4096; });
    if (!small) continue;
    Claim claim;
    try {
      claim = claim_of(drawn.asked);
    } catch (const Error&) {
      continue;
    }
    if (draw.chance(60) && !claim.groups.empty()) damage(draw, claim);
    Findings findings;
    judge_cover(Facts(claim), findings);
    ASSERT_EQ(findings.empty(), is_covered(claim)) << "case " << i << ": " << to_text(drawn.asked);
    ++(findings.empty() ? whole : broken);
  }
  EXPECT_GT(broken, 500);
  EXPECT_GT(whole, 500);
}

}  // namespace
}  // namespace shardcheck::laws
