// How a difference reads.
#include "core/shadow.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardcheck {
namespace {

ShadowDifference one_ulp() {
  return {.op = OpIndex{41},
          .op_text = "accumulate the reduced gradient onto the shard of w0",
          .why = "accumulate",
          .reference = "cpu",
          .candidate = "cuda",
          .buffer = "shard",
          .rank = Rank{1},
          .view = {BufferId{3}, 8, 4},
          .element = 2,
          .expected = {258, 0x4381, DType::bf16},
          .actual = {256, 0x4380, DType::bf16},
          .ulps = 1,
          .differing_elements = 3,
          .written_elements = 8,
          .operands = {{"addend", {{1.5, 0x3FC0, DType::bf16}}, 1},
                       {"added to", {{256, 0x4380, DType::bf16}}, 9}}};
}

TEST(ShadowText, IsOneFactALine) {
  EXPECT_EQ(to_text(one_ulp()),
            "op 41 differs: accumulate the reduced gradient onto the shard of w0\n"
            "  why       accumulate\n"
            "  where     rank 1, shard[10]\n"
            "  cpu       258 (0x4381)\n"
            "  cuda      256 (0x4380), 1 ulp apart\n"
            "  differ    3 of 8 elements written\n"
            "  addend    1.5 (0x3fc0)\n"
            "  added to  256 (0x4380), and 8 more\n");
}

TEST(ShadowText, DistanceSpeaksOfWhatApplies) {
  ShadowDifference d = one_ulp();
  d.ulps = 5;
  EXPECT_EQ(distance_text(d), "5 ulps apart");
  d.ulps = 0;
  EXPECT_EQ(distance_text(d), "zeros of different sign");
  d.bound = 0.5;
  d.share = 4.0;
  EXPECT_EQ(distance_text(d), "2 apart, 4 times the bound of 0.5");
  d.actual.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(distance_text(d), "one is NaN");
}

}  // namespace
}  // namespace shardcheck
