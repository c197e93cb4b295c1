// The published known-answer vectors of Random123 for Philox4x32-10.
#include "core/numerics/philox.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(kOnes, kOnes, kOnes), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace shardcheck
