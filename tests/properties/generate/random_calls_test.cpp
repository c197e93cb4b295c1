// Random experts: calls and weights of several experts are valid, survive a file, and their right plans show
// nothing.
#include "properties/generate/random_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/shrinks.h"
#include "sim/scenario/grouped_calls.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"
#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

bool holds_several(const ScenarioParameter& p) {
  return p.groups > 1;
}
bool is_routed_nowhere(const TokenCount& count) {
  return count.parameter >= 0 && count.tokens == 0;
}

TEST(RandomCalls, EveryCaseIsValidAndSurvivesAFile) {
  int calls = 0, repeated = 0, unfused = 0, in_one = 0, empty = 0;
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      Draw draw(seed, 21);
      const Scenario s = random_scenario(draw, focus);
      validate(s, "drawn");
      EXPECT_EQ(scenario_from_json(to_json(s), "f.json"), s);
      calls += has_grouped_calls(s);
      repeated += std::ranges::count(s.uses, true, &ScenarioUse::grouped) > 1;
      unfused += std::ranges::any_of(
          s.uses, [](const ScenarioUse& u) { return u.grouped && u.producer == Producer::unfused; });
      in_one += std::ranges::any_of(s.parameters, holds_several);
      empty += std::ranges::any_of(s.token_counts, is_routed_nowhere);
    }
  }
  EXPECT_GT(std::min({calls, repeated, unfused, in_one, empty}), 40);
}

TEST(RandomCalls, RightPlansShowNothing) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Draw draw(seed, 22);
    const Scenario s = random_scenario(draw, seed % 2 == 0 ? Focus::empty_microbatches : Focus::today);
    if (!has_grouped_calls(s) && !std::ranges::any_of(s.parameters, holds_several)) continue;
    ++seen;
    const Evidence evidence = examine(*backend, s, seed % 3 == 0 ? Poison::quiet_nan : Poison::large);
    EXPECT_TRUE(evidence.findings.empty()) << evidence.findings.front().sentence << '\n' << to_json(s);
  }
  EXPECT_GT(seen, 300);
}

TEST(RandomCalls, MatchingGivesTheMembersWhatTheFirstHas) {
  Scenario s;
  s.parameters = {{.name = "w0", .shape = {2, 3}, .thaws_at = 1}, {.name = "w1", .shape = {5, 7}}};
  s.uses = {{.parameter = 0}, {.parameter = 1, .grouped = true}};
  s.silent = {{.parameter = 1, .step = 0}, {.parameter = 0, .microbatch = 1}};
  match_experts(s);
  EXPECT_EQ(s.parameters[1].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(s.parameters[1].thaws_at, 1);
  EXPECT_EQ(s.silent,
            (std::vector<Silence>{{.parameter = 0, .microbatch = 1}, {.parameter = 1, .microbatch = 1}}));
}

TEST(RandomCalls, ShrinkToOneExpertByItself) {
  int shrunk = 0;
  for (std::uint64_t seed = 0; shrunk < 12; ++seed) {
    Draw draw(seed, 23);
    Scenario s = random_scenario(draw, Focus::empty_microbatches);
    if (!has_grouped_calls(s) && !std::ranges::any_of(s.parameters, holds_several)) continue;
    ++shrunk;
    for (auto smaller = shrinks(s); !smaller.empty(); smaller = shrinks(s)) s = smaller.front();
    EXPECT_FALSE(has_grouped_calls(s));
    EXPECT_FALSE(std::ranges::any_of(s.parameters, holds_several)) << to_json(s);
    EXPECT_TRUE(s.token_counts.empty());
  }
}

/// The members of a call get smaller together, so that a bug that needs the call keeps it.
TEST(RandomCalls, ACallShrinksAsAWhole) {
  Scenario s;
  s.data = DataMode::integers;
  s.parameters = {{.name = "w0", .shape = {4, 6}}, {.name = "w1", .shape = {4, 6}}};
  s.uses = {{.parameter = 0}, {.parameter = 1, .grouped = true}};
  const auto candidates = shrinks(s);
  EXPECT_TRUE(std::ranges::any_of(candidates, [](const Scenario& c) {
    return has_grouped_calls(c) && c.parameters[1].shape == std::vector<std::int64_t>{1, 1};
  }));
}

}  // namespace
}  // namespace shardcheck
