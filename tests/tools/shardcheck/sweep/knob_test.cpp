// Words into knobs, knobs into settings, a setting into a scenario.
#include "tools/shardcheck/sweep/knob.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace shardcheck {
namespace {

TEST(Knobs, RangesListsAndAll) {
  const auto knobs = knobs_of({"ranks=1..3", "microbatches=1", "4", "strategy=all"});
  ASSERT_EQ(knobs.size(), 3u);
  EXPECT_EQ(knobs[0].values, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(knobs[1].values, (std::vector<std::string>{"1", "4"}));
  EXPECT_EQ(knobs[2].values.size(), static_cast<std::size_t>(kStrategies));
  EXPECT_EQ(shown(knobs[2].values[0]), name_of(Strategy::megatron_ddp));
}

TEST(Knobs, TheLastOneTurnsFastest) {
  const auto settings = settings_of(knobs_of({"ranks=1..2", "steps=1..3"}));
  ASSERT_EQ(settings.size(), 6u);
  EXPECT_EQ(settings[1], (Setting{0, 1}));
  EXPECT_THROW(settings_of(knobs_of({"seed=1..1000", "steps=1..1000"})), Error);
}

TEST(Knobs, ASettingIsAScenarioOrASentence) {
  const Scenario scenario{.parameters = {{.name = "w", .shape = {2, 2}}}, .uses = {{0}}};
  const auto knobs = knobs_of({"ranks=2", "0"});
  EXPECT_EQ(turned(scenario, knobs, {0}).ranks, 2);
  EXPECT_THROW(turned(scenario, knobs, {1}), Error);
}

}  // namespace
}  // namespace shardcheck
