// A race made to happen: the consumer reads what the schedule did, and a right plan has no schedule to try.
#include "properties/schedules.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/profile.h"
#include "tests/properties/two_units.h"

namespace shardcheck {
namespace {

using tests::two_units_and_one_slot;

TEST(Schedules, ARightPlanHasNone) {
  const auto backend = make_cpu_backend(kIdeal);
  const Schedules schedules = run_schedules(*backend, two_units_and_one_slot(""));
  EXPECT_EQ(schedules.races, 0);
  EXPECT_TRUE(schedules.tried.empty());
}

TEST(Schedules, ASlotThatIsNotFencedMixesTwoLayers) {  // B-28
  const auto backend = make_cpu_backend(kIdeal);
  const Schedules schedules = run_schedules(*backend, two_units_and_one_slot("B-28"));
  ASSERT_GT(schedules.races, 0);
  bool harms = false;
  for (const ScheduledRace& each : schedules.tried) {
    EXPECT_TRUE(each.finding.clause == "W33" || each.finding.clause == "W22") << each.finding.clause;
    EXPECT_GT(each.put_off, 0);
    harms |= !each.values.empty();
  }
  EXPECT_TRUE(harms);
}

/// The sentence of the first wrong class, or nothing.
std::string what_goes_wrong(const Scenario& s) {
  const auto backend = make_cpu_backend(kIdeal);
  const Exploration seen = explore_schedules(*backend, s, 200);
  return seen.wrong.empty() ? "" : seen.wrong.front().value.sentence;
}

TEST(Schedules, SayThatStagedWeightsWentWrong) {  // E15
  Scenario s = two_units_and_one_slot("");
  s.strategy = Strategy::megatron_ddp_zero1;
  s.staging = true;
  EXPECT_EQ(what_goes_wrong(s), "");
  for (const char* fault : {"M-E15", "M-E15b"}) {
    s.fault = fault;
    const std::string sentence = what_goes_wrong(s);
    EXPECT_NE(sentence.find("leaves weights (weights) that are not those"), std::string::npos) << sentence;
  }
}

/// 3 buckets, 2 slots, 2 streams: what wgrad 6.1 wants to see covered.
Scenario three_buckets(const std::string& fault) {
  Scenario s = two_units_and_one_slot(fault);
  s.slots = 2;
  s.parameters.push_back({.name = "c", .shape = {2, 12}, .unit = 2});
  s.uses.push_back({2});
  s.steps = s.microbatches = 1;
  return s;
}

TEST(Explored, ARightPlanHasOneClassOfSchedulesEvenWithAHostileAllocator) {
  const auto backend = make_cpu_backend(kIdeal);
  for (const bool overlap : {true, false}) {
    Scenario s = three_buckets("");
    s.overlap = overlap;
    const Exploration seen = explore_schedules(*backend, s, 1000);
    // Reductions in line return a slot at once, so the allocator has one to reuse.
    EXPECT_EQ(seen.plans.size(), overlap ? 1u : 2u);
    for (const ExploredPlan& each : seen.plans) {
      EXPECT_EQ(each.explored.classes, 1);
      EXPECT_TRUE(each.explored.are_all);
      EXPECT_EQ(each.wrong, 0);
    }
  }
}

TEST(Explored, ASlotThatIsNotFencedIsCoveredWholly) {  // B-28
  const auto backend = make_cpu_backend(kIdeal);
  const Exploration seen = explore_schedules(*backend, three_buckets("B-28"), 100'000);
  const ExploredPlan& as_planned = seen.plans.at(0);
  EXPECT_TRUE(as_planned.explored.are_all);
  EXPECT_GT(as_planned.explored.classes, 2);
  EXPECT_GT(as_planned.wrong, 0);
  EXPECT_GE(as_planned.different, as_planned.wrong) << "the plan's own order is right";
  ASSERT_FALSE(seen.wrong.empty());
  EXPECT_TRUE(seen.wrong[0].value.has_values);
  EXPECT_FALSE(seen.wrong[0].reversed.empty());
}

TEST(Explored, AHostileAllocatorShowsWhatThePoolHides) {  // B-29
  const auto backend = make_cpu_backend(kIdeal);
  Scenario s = three_buckets("B-29");
  s.slots = 3;
  const Exploration seen = explore_schedules(*backend, s, 10'000);
  ASSERT_EQ(seen.plans.size(), 2u);
  EXPECT_EQ(seen.plans[0].wrong, 0) << "every lease has a slot of its own";
  EXPECT_GT(seen.plans[1].wrong, 0);
}

TEST(Explored, StopsAtTheBound) {
  const auto backend = make_cpu_backend(kIdeal);
  const Exploration seen = explore_schedules(*backend, three_buckets("B-28"), 2);
  EXPECT_EQ(seen.plans.at(0).explored.classes, 2);
  EXPECT_FALSE(seen.plans.at(0).explored.are_all);
}

}  // namespace
}  // namespace shardcheck
