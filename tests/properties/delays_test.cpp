// Races on a stand-in for a machine whose streams run at once: what is late is overtaken in every second run.
#include "properties/delays.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/delaying.h"
#include "core/error.h"
#include "core/numerics/profile.h"
#include "core/plan/schedule.h"
#include "properties/schedules.h"
#include "tests/properties/two_units.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck {
namespace {

using tests::two_units_and_one_slot;

class OvertakingCpu final : public Backend, public Delaying {
 public:
  BackendInfo info() const override { return inner_->info(); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
  }
  void hold_back(const std::optional<Delay>& delay) override { delay_ = delay; }
  bool is_held_back() const { return delay_.has_value(); }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    const bool overtakes = delay_ && delay_->length.count() > 0 && delay_->before >= first &&
                           delay_->before < last && delayed_runs_++ % 2 == 0;
    if (!overtakes) return inner_->execute(plan, first, last);
    for (OpIndex op : order_of(plan)) {
      if (op >= first && op < last) inner_->execute(plan, op, OpIndex{op.value + 1});
    }
  }

 private:
  std::vector<OpIndex> order_of(const Plan& plan) const {
    for (const Race& race : races_of(plan)) {
      if (race.first != delay_->before || race.rank != delay_->rank) continue;
      if (auto order = schedule_against(plan, race)) return *order;
    }
    ADD_FAILURE() << "no race begins with the op that is late";
    return {};
  }

  std::unique_ptr<Backend> inner_ = make_cpu_backend(kIdeal);
  std::optional<Delay> delay_;
  std::int64_t delayed_runs_ = 0;
};

TEST(Delays, WhatIsOvertakenGoesWrongAsTheScheduleDoes) {  // B-28
  const Scenario scenario = two_units_and_one_slot("B-28");
  const auto cpu = make_cpu_backend(kIdeal);
  std::vector<Race> races;
  std::vector<bool> harms;
  for (const ScheduledRace& each : run_schedules(*cpu, scenario).tried) {
    const bool is_first_of_its_op = races.empty() || races.back().first != each.race.first;
    if (!is_first_of_its_op) continue;
    races.push_back(each.race);
    harms.push_back(!each.values.empty());
  }
  OvertakingCpu overtaking;
  const DelayedRaces seen =
      run_delayed(overtaking, scenario, races, {.tries = 6, .length = std::chrono::microseconds(1)});
  EXPECT_FALSE(overtaking.is_held_back());
  EXPECT_EQ(seen.wrong_undelayed, 0);
  ASSERT_EQ(seen.races.size(), races.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < races.size(); ++i) {
    EXPECT_EQ(seen.races[i].wrong, harms[i] ? 3 : 0) << "race " << i;
    EXPECT_EQ(seen.races[i].value.has_value(), harms[i]) << "race " << i;
    wrong += seen.races[i].wrong;
  }
  EXPECT_GT(wrong, 0);
}

TEST(Delays, WeightsThatAreCopiedOutOfAnUnfinishedGatherShow) {  // M-F46c
  Scenario faulty = tests::prepared(*find_fault("M-F46c"));
  faulty.fault = "M-F46c";
  const auto cpu = make_cpu_backend(kIdeal);
  std::vector<Race> races;
  bool harms = false;
  for (const ScheduledRace& each : run_schedules(*cpu, faulty).tried) {
    races.push_back(each.race);
    harms |= !each.values.empty();
  }
  ASSERT_TRUE(harms);
  OvertakingCpu overtaking;
  const DelayedRaces seen =
      run_delayed(overtaking, faulty, races, {.tries = 2, .length = std::chrono::microseconds(1)});
  EXPECT_EQ(seen.wrong_undelayed, 0);
  std::int64_t wrong = 0;
  for (const DelayedRace& race : seen.races) {
    wrong += race.wrong;
    if (!race.value) continue;
    EXPECT_NE(race.value->sentence.find("are not those of the plan's order"), std::string::npos);
  }
  EXPECT_GT(wrong, 0);
}

TEST(Delays, ABackendWithoutStreamsIsRefused) {
  const auto cpu = make_cpu_backend(kIdeal);
  try {
    run_delayed(*cpu, two_units_and_one_slot(""), {}, {.tries = 1, .length = std::chrono::microseconds(1)});
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(std::string(error.what()).find("no stream can be late"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardcheck
