// The codes that are moved include those that a copy by value would change.
#include "properties/layout_laws/memory.h"

#include <gtest/gtest.h>

#include <set>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

TEST(Memory, CodesCoverTheAwkwardOnes) {
  bool signalling = false, subnormal = false, negative = false;
  std::set<std::uint32_t> low_bytes;
  for (std::int64_t e = 0; e < 4096; ++e) {
    const std::uint32_t code = code_of(ParamId{1}, e);
    const bool nan = (code & 0x7f800000) == 0x7f800000 && (code & 0x7fffff) != 0;
    signalling = signalling || (nan && (code & 0x400000) == 0);
    subnormal = subnormal || ((code & 0x7f800000) == 0 && (code & 0x7fffff) != 0);
    negative = negative || code >> 31 != 0;
    low_bytes.insert(code & 0xff);
  }
  EXPECT_TRUE(signalling && subnormal && negative);
  EXPECT_EQ(low_bytes.size(), 256u);
}

TEST(Memory, PaddingHoldsTheCanary) {
  const Claim claim = claim_of(ask("zero3-flat", {{5}}, 4));
  const Memory memory = filled(claim, 0xa5a5a5a5);
  EXPECT_EQ(memory[0][2][0], code_of(ParamId{0}, 4));
  EXPECT_EQ(memory[0][2][1], 0xa5a5a5a5);
  EXPECT_EQ(memory[0][3], (std::vector<std::uint32_t>{0xa5a5a5a5, 0xa5a5a5a5}));
}

TEST(Memory, WhatLeavesItsStorageIsNotMoved) {
  Claim claim = claim_of(ask("zero3-flat", {{5}}, 4));
  EXPECT_TRUE(can_move(claim));
  claim.groups[0].shard(0, 0).segs[0].off = 1;
  EXPECT_FALSE(can_move(claim));
}

}  // namespace
}  // namespace shardcheck::laws
