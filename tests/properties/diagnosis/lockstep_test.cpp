#include "properties/diagnosis/lockstep.h"

#include <gtest/gtest.h>

#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

TEST(Lockstep, EqualBackendsDoNotDiffer) {
  const auto a = test::backend(), b = test::backend();
  EXPECT_FALSE(first_difference(test::worked_example(), Poison::quiet_nan, {*a, *b}));
}

TEST(Lockstep, NamesTheOpTheRankAndTheElement) {
  const auto right = test::backend(), wrong = test::backend("faulty:drop-last-element");
  const auto difference = first_difference(test::worked_example(), Poison::quiet_nan, {*right, *wrong});
  ASSERT_TRUE(difference);
  EXPECT_TRUE(
      difference->op_text.starts_with("wgrad GEMM, beta = 1, 1 token of w (use 0, microbatch 0, step 0)"));
  EXPECT_EQ(difference->rank, Rank{0});
  EXPECT_EQ(difference->place.offset, 3);
  EXPECT_EQ(difference->actual.value, 0);
  EXPECT_NE(difference->expected.value, 0);
}

TEST(Lockstep, FindsAReductionThatForgetsARank) {
  const auto right = test::backend(), wrong = test::backend("faulty:skip-last-rank");
  const auto difference = first_difference(test::worked_example(), Poison::quiet_nan, {*right, *wrong});
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->op_text.starts_with("all-reduce (sum)"));
  EXPECT_EQ(difference->expected.value, 42.5);
  EXPECT_EQ(difference->actual.value, 2.5);
}

}  // namespace
}  // namespace shardcheck
