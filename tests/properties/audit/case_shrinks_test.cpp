// Shrinks of cases: simpler, still runnable, with an end.
#include "properties/audit/case_shrinks.h"

#include <gtest/gtest.h>

#include "properties/audit/random_case.h"

namespace shardcheck {
namespace {

TEST(AuditShrinks, CanBeRunAndKeepTheRanks) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    Draw draw(3, i);
    const AuditCase c = random_audit_case(draw, {"fsdp2", 2});
    for (const AuditCase& simpler : shrinks(c)) {
      EXPECT_EQ(refusal(simpler), "");
      EXPECT_EQ(simpler.scenario.ranks, 2);
      EXPECT_FALSE(simpler == c);
    }
  }
}

TEST(AuditShrinks, FollowingThemEndsAtASmallCase) {
  Draw draw(3, 1);
  AuditCase c = random_audit_case(draw, {"fsdp2", 2});
  int steps = 0;
  for (auto simpler = shrinks(c); !simpler.empty(); simpler = shrinks(c)) {
    c = simpler.front();
    ASSERT_LT(++steps, 400);
  }
  EXPECT_EQ(c.scenario.parameters.size(), 1u);
  EXPECT_EQ(c.scenario.steps, 1);
  EXPECT_EQ(c.adapter, AuditAdapter{.name = "fsdp2"});
}

}  // namespace
}  // namespace shardcheck
