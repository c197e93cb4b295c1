#include "core/assert.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Assert, AbortsWithConditionReasonAndPlace) {
  EXPECT_DEATH(SC_ASSERT(1 + 1 == 3, "sums are wrong"), "sums are wrong.*1 \\+ 1 == 3.*assert_test.cpp");
}

TEST(Assert, IsSilentAndEvaluatesOnceWhenItHolds) {
  int evaluated = 0;
  SC_ASSERT(++evaluated == 1, "");
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace shardcheck
