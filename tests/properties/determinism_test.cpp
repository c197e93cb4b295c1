// Every row of wgrad 8.8 that says bit-exact holds on every owner, is asked where its condition holds and
// nowhere else, and notices a machine that breaks it. Faults: tests/sim/faults/zoo_test.cpp.
#include "properties/determinism.h"

#include <gtest/gtest.h>

#include "properties/evidence.h"
#include "sim/scenario/validate.h"
#include "tests/properties/drifting.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// A repeated weight and another on four ranks.
Scenario rounding_job(Strategy strategy) {
  Scenario s = base(strategy);
  s.ranks = 4;
  s.parameters[0].shape = {4, 64};
  s.parameters.push_back({.name = "w1", .shape = {4, 64}, .unit = 1});
  s.uses = {{0}, {1}, {0}, {0}};
  if (is_unfused_only(strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  validate(s, "test");
  return s;
}

std::string sentence_of_w39(Backend& backend, const Scenario& s) {
  std::string text;
  for (const Finding& finding : determinism(backend, s))
    text += finding.clause + ": " + finding.sentence + "\n";
  return text;
}

TEST(Determinism, HoldsOnEveryOwner) {
  const auto cpu = make_backend("cpu", {.profile = "hopper"});
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = rounding_job(static_cast<Strategy>(i));
    EXPECT_EQ(sentence_of_w39(*cpu, s), "") << describe(s);
    if (!is_unfused_only(s.strategy)) {
      for (const Execution execution : {Execution::delayed, Execution::graph}) {
        s.execution = execution;
        EXPECT_EQ(sentence_of_w39(*cpu, s), "") << describe(s);
      }
    }
    if (!allows_outer(s.strategy)) continue;
    s.outer = 2;
    EXPECT_EQ(sentence_of_w39(*cpu, s), "") << describe(s);
  }
}

TEST(Determinism, AMachineThatDoesNotRepeatItsBitsIsNoticed) {
  Drifting machine(Drifting::Drift::in_every_other_run);
  EXPECT_NE(sentence_of_w39(machine, rounding_job(Strategy::megatron_ddp_zero1)).find("a second run"),
            std::string::npos);
}

TEST(Determinism, ExecutionsAreComparedWhereTheyWriteInOneOrder) {
  Scenario s = rounding_job(Strategy::megatron_ddp);
  EXPECT_FALSE(executed_eagerly(s)) << "that is what it does";
  for (const Execution execution : {Execution::delayed, Execution::graph}) {
    s.execution = execution;
    EXPECT_TRUE(executed_eagerly(s));
  }
  s.execution = Execution::delayed;
  s.uses[2].producer = Producer::other;  // writes at once, also where others wait
  EXPECT_FALSE(executed_eagerly(s));
}

TEST(Determinism, ScalesAreMovedWhereTheyArePowersOfTwo) {
  Scenario s = rounding_job(Strategy::megatron_ddp);
  EXPECT_TRUE(scaled_otherwise(s, Scaling::finalize));
  s.ranks = 3;
  EXPECT_FALSE(scaled_otherwise(s, Scaling::finalize));
  s = rounding_job(Strategy::megatron_ddp);
  s.comm = DType::f16;
  EXPECT_FALSE(scaled_otherwise(s, Scaling::finalize)) << "it may underflow";
  s.comm = DType::f32;
  s.loss = Loss::per_token;
  EXPECT_FALSE(scaled_otherwise(s, Scaling::finalize));
}

TEST(Determinism, IdenticalRanksAreComparedWithOneUpToFour) {
  Scenario s = rounding_job(Strategy::megatron_ddp);
  s.silent = {{0, 0, 1, -1}, {1, 0, 0, -1}};
  s.token_counts = {{0, 1, 3}, {2, 0, 0}};
  const auto alike = alike_ranks(s);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->one.ranks, 1);
  EXPECT_EQ(alike->many.silent, (std::vector<Silence>{{1, 0, -1, -1}}));
  EXPECT_EQ(alike->many.token_counts.size(), 4u);
  EXPECT_EQ(alike->one.token_counts, (std::vector<TokenCount>{{0, 1, 3}}));
  s.ranks = 8;
  EXPECT_FALSE(alike_ranks(s)) << "the sum of eight equal addends rounds";
  s.ranks = 4;
  s.loss = Loss::per_token;
  EXPECT_FALSE(alike_ranks(s)) << "the tokens of one rank are fewer";
}

TEST(Determinism, EightEqualAddendsRound) {
  // Why wgrad 8.8's row of identical ranks is asked of two and four only: 3x rounds up or down to even, and
  // 4x is right again; 5x to 7x leave a trace.
  int wrong_of_four = 0, wrong_of_eight = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const float x = 1 + static_cast<float>(i * 2047 + 1) * 0x1p-23f;
    float sum = x;
    for (int n = 2; n <= 8; ++n) {
      sum += x;
      wrong_of_four += n == 4 && sum != 4 * x;
      wrong_of_eight += n == 8 && sum != 8 * x;
    }
  }
  EXPECT_EQ(wrong_of_four, 0);
  EXPECT_GT(wrong_of_eight, 1000);
}

}  // namespace
}  // namespace shardcheck::tests
