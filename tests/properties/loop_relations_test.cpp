// The four relations hold on every owner, and each notices what it is there for. Faults that they catch:
// tests/sim/faults/zoo_test.cpp.
#include "properties/loop_relations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/registry.h"
#include "sim/scenario/validate.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// A tied weight and another, three steps, on every owner.
Scenario busy(Strategy strategy) {
  Scenario s = base(strategy);
  s.steps = 3;
  s.parameters[0].shape = {4, 64};
  s.parameters.push_back({.name = "w1", .shape = {4, 64}, .unit = 1});
  s.uses = {{0}, {1}, {0}};
  if (is_unfused_only(strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  return s;
}

std::string broken(std::vector<Finding> (*relation)(Backend&, const Scenario&), const Scenario& s) {
  validate(s, "test");
  const auto backend = make_backend("cpu", {"ideal"});
  std::string text;
  for (const Finding& finding : relation(*backend, s))
    text += finding.clause + ": " + finding.sentence + "\n";
  return text;
}

TEST(LoopRelations, HoldOnEveryOwner) {
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = busy(static_cast<Strategy>(i));
    EXPECT_EQ(broken(reduction_time, s), "") << describe(s);
    EXPECT_EQ(broken(bystanders, s), "") << describe(s);
    s.loop.recompute = {.all = true, .units = {}};
    s.parameters[0].thaws_at = 1;
    EXPECT_EQ(broken(recompute_neutrality, s), "") << describe(s);
    s.loop.resumes = {0, 1};
    for (std::int32_t after = 0; after <= 3; ++after) {
      s.loop.aborts = {{.step = 1, .microbatch = 1, .after_uses = after}, {.step = 2}};
      EXPECT_EQ(broken(clean_reset, s), "") << describe(s);
    }
  }
}

TEST(LoopRelations, AnArmedFlagIsConsumedByTheFirstForward) {
  // wgrad 9.5: with a repeated layer the armed call overwrites last; recomputation makes it right by
  // accident.
  Scenario s = base(Strategy::megatron_ddp);
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  s.uses = {{0}, {0}};
  EXPECT_NE(broken(recompute_neutrality, s).find("W5"), std::string::npos);
  s.loop.recompute = {.all = true, .units = {}};
  EXPECT_EQ(broken(clean_reset, s), "") << "alone it is right";
  EXPECT_EQ(broken(recompute_neutrality, s), "W37: recomputing activations changes a gradient\n")
      << "and yet it is not what the loop without does";
}

TEST(LoopRelations, TheTimeOfAReductionOfInexactSumsIsNotJudgedByBits) {
  Scenario s = busy(Strategy::fsdp2);
  s.ranks = 3;
  s.data = DataMode::integers;
  s.sync = Sync::last;
  EXPECT_EQ(broken(reduction_time, s), "");
}

}  // namespace
}  // namespace shardcheck::tests
