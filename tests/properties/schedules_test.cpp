// A race made to happen: the consumer reads what the schedule did, and a right plan has no schedule to try.
#include "properties/schedules.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/profile.h"

namespace shardcheck {
namespace {

Scenario two_units_and_one_slot(const std::string& fault) {
  return {
      .strategy = Strategy::fsdp_optim_grads,
      .slots = 1,
      .parameters = {{.name = "a", .shape = {2, 12}, .unit = 0}, {.name = "b", .shape = {2, 12}, .unit = 1}},
      .uses = {{0}, {1}},
      .fault = fault};
}

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

}  // namespace
}  // namespace shardcheck
