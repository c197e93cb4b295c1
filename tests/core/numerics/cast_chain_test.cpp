// A declared double rounding gives the golden double-rounded bytes, and one step is the plain cast.
#include "core/numerics/cast_chain.h"

#include <gtest/gtest.h>

#include "core/numerics/encode.h"
#include "tests/core/numerics/golden.h"

namespace shardcheck {
namespace {

TEST(CastChain, GoldenDoubleRounding) {
  for (const auto& row : golden::rows("fp8/double_rounding.csv")) {
    const auto last = format_named(row[1] == "e4m3fn" ? "e4m3" : row[1]);
    const auto middle = format_named(row[2] == "fp16" ? "f16" : row[2]);
    ASSERT_TRUE(last && middle) << row[1] << " " << row[2];
    const std::uint32_t bits = golden::hex(row[0]);
    const CastStep through[] = {{*middle, kIeee}, {*last, kNvSaturating}};
    EXPECT_EQ(encode_through(through, bits), golden::hex(row[4])) << row[0];
    EXPECT_EQ(encode_through(std::span(through).last(1), bits), golden::hex(row[3])) << row[0];
  }
}

}  // namespace
}  // namespace shardcheck
