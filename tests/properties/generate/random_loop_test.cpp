#include "properties/generate/random_loop.h"

#include <gtest/gtest.h>

#include <map>

#include "properties/generate/random_scenario.h"
#include "properties/generate/soundness.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

TEST(RandomLoop, EveryKindOfEventIsDrawnAndFits) {
  for (const Focus focus : {Focus::any, Focus::recompute, Focus::interrupted, Focus::frozen, Focus::sync}) {
    std::map<std::string, int> count;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      Draw draw(seed);
      const Scenario s = random_scenario(draw, focus);
      validate(s, "drawn");
      EXPECT_TRUE(is_sound(s)) << describe(s);
      count["recompute"] += !(s.loop.recompute == Recomputed{});
      count["aborts"] += !s.loop.aborts.empty();
      count["resumes"] += !s.loop.resumes.empty();
      for (const ScenarioParameter& p : s.parameters) count["thaws"] += p.thaws_at > 0;
    }
    for (const auto& [kind, times] : count)
      EXPECT_GT(times, 2) << kind << " of focus " << static_cast<int>(focus);
    const std::map<Focus, std::pair<std::string, int>> wanted = {{Focus::recompute, {"recompute", 300}},
                                                                 {Focus::interrupted, {"aborts", 200}},
                                                                 {Focus::frozen, {"thaws", 60}}};
    if (const auto found = wanted.find(focus); found != wanted.end()) {
      EXPECT_GT(count[found->second.first], found->second.second);
    }
  }
}

TEST(RandomLoop, Fp8WeightsAreLeftAlone) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draw draw(seed);
    Scenario s;
    s.fp8 = Fp8Training{};
    draw_loop(draw, Focus::interrupted, s);
    EXPECT_EQ(s.loop, LoopEvents{});
  }
}

TEST(RandomLoop, EventsDoNotMakeAScenarioUnsound) {
  // R4 zeroes nothing, so that a parameter that is frozen at first would show garbage.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Draw draw(seed);
    Scenario s;
    s.write_mode = WriteMode::r4;
    s.parameters = {{.name = "w0", .shape = {4, 32}}};
    s.uses = {{.parameter = 0}};
    ASSERT_TRUE(is_sound(s));
    draw_loop(draw, Focus::frozen, s);
    EXPECT_EQ(s.parameters[0].thaws_at, 0);
  }
}

}  // namespace
}  // namespace shardcheck
