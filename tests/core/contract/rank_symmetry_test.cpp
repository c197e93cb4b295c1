// Calls that differ as findings: both calls, the ranges that are mixed, and what every rank waits in.
#include "core/contract/rank_symmetry.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

/// Ranks 0 and 1 call an all-reduce; the arena holds both from 0 on.
struct Calls : TinyPlan {
  void call(std::vector<Rank> callers, View view) {
    build.op(Enqueue{{.group = 2}, 0}, {}, kCompute, callers).on(view).on(view);
  }
  std::vector<Rank> zero{Rank{0}}, one{Rank{1}};
};

TEST(RankSymmetry, AMixNamesBothCallsAndBothRanges) {
  Calls tiny;
  tiny.call(tiny.zero, {tiny.main, 0, 2});
  tiny.call(tiny.one, {tiny.main, 2, 2});
  const auto findings = judge_symmetry(tiny.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W30");
  EXPECT_EQ(
      findings[0].sentence,
      "call 0 on ranks 0 to 1: rank 0 calls all-reduce (sum) of 2 f32 elements of main_grad[0:2) (op 8), "
      "rank 1 calls all-reduce (sum) of 2 f32 elements of main_grad[2:4) (op 9): sizes agree, so "
      "main_grad[0:2) of rank 0 and main_grad[2:4) of rank 1 are mixed without a sign");
  EXPECT_EQ(findings[0].parameter_name, "w");
  EXPECT_EQ(findings[0].element, 0);
  EXPECT_EQ(findings[0].rank, 0);
}

TEST(RankSymmetry, AHangSaysWhatEachRankWaitsIn) {
  Calls tiny;
  tiny.call(tiny.zero, {tiny.main, 0, 4});
  tiny.call(tiny.zero, {tiny.main, 4, 2});
  tiny.call(tiny.one, {tiny.main, 4, 2});
  const auto findings = judge_symmetry(tiny.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].sentence.find("of main_grad[4:6) (op 10): they never complete"), std::string::npos)
      << findings[0].sentence;
  const std::vector<std::string> history = {
      "rank 0 calls all-reduce (sum) of 4 f32 elements of main_grad[0:4)",
      "rank 1 calls all-reduce (sum) of 2 f32 elements of main_grad[4:6)",
      "rank 0, compute stream: waits forever in op 8, call all-reduce (sum) over groups of 2 in "
      "main_grad[0:4) on rank 0",
      "rank 1, compute stream: waits forever in op 10, call all-reduce (sum) over groups of 2 in "
      "main_grad[4:6) on rank 1"};
  EXPECT_EQ(findings[0].history, history);
  EXPECT_EQ(findings[0].parameter_name, "w");
  EXPECT_EQ(findings[0].element, -1) << "no byte is wrong";
}

TEST(RankSymmetry, ARankThatCallsNothing) {
  Calls tiny;
  tiny.call(tiny.one, {tiny.main, 0, 4});
  const auto findings = judge_symmetry(tiny.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].sentence.find("rank 1 calls all-reduce (sum) of 4 f32 elements of main_grad[0:4) (op "
                                      "8), rank 0 calls nothing more: they never complete"),
            std::string::npos)
      << findings[0].sentence;
}

TEST(RankSymmetry, ACircleNamesWhoWaitsForWhom) {
  Calls tiny;
  tiny.plan.ranks = 3;
  const auto third = static_cast<std::int32_t>(tiny.plan.rank_arena.size());
  tiny.plan.rank_arena.insert(tiny.plan.rank_arena.end(), {Rank{0}, Rank{1}, Rank{2}});
  const auto call_all = [&](const std::vector<Rank>& callers) {
    tiny.build.op(Enqueue{{.group = 3}, third}, {}, kCompute, callers)
        .on({tiny.main, 4, 2})
        .on({tiny.main, 4, 2});
  };
  tiny.call(tiny.zero, {tiny.main, 0, 4});
  call_all({Rank{0}, Rank{2}});
  call_all(tiny.one);
  tiny.call(tiny.one, {tiny.main, 0, 4});
  const auto findings = judge_symmetry(tiny.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(
      findings[0].sentence,
      "every rank calls the same, but they wait for each other in a circle: rank 0 in op 8, which waits "
      "for rank 1 in op 10, which waits for rank 0");
}

TEST(RankSymmetry, IsJudgedWithThePlanAndBeforeAllElse) {
  Calls tiny;
  tiny.fill(tiny.main);
  tiny.all_reduce(tiny.main);
  tiny.finish(tiny.main);
  EXPECT_EQ(broken(tiny.plan), "");
  tiny.call(tiny.zero, tiny.all(tiny.main));
  EXPECT_EQ(broken(tiny.plan), "W30");
}

}  // namespace
}  // namespace shardcheck::tests
