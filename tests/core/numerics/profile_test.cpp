// The rows of tensor-core 1.
#include "core/numerics/profile.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Profile, NamesLeadToProfiles) {
  EXPECT_EQ(profile_named("ideal"), &kIdeal);
  EXPECT_EQ(profile_named("hopper"), &kHopper);
  EXPECT_EQ(profile_named("blackwell"), &kBlackwell);
  EXPECT_EQ(profile_named("pascal"), nullptr);
}

TEST(Profile, PublishedRowsAreThoseOfTheTable) {
  struct Row {
    const char* name;
    SixteenBitOperands operands;
    int products, alignment, fp8_products, fp8_alignment, fp8_kept;
  };
  constexpr auto kBoth = SixteenBitOperands::bf16_and_f16;
  constexpr Row kRows[] = {{"volta", SixteenBitOperands::f16, 4, 23, 0, 0, 0},
                           {"turing", SixteenBitOperands::f16, 8, 24, 0, 0, 0},
                           {"ampere", kBoth, 8, 24, 0, 0, 0},
                           {"ada", kBoth, 8, 24, 16, 13, 13},
                           {"hopper-mma-sync", kBoth, 16, 25, 32, 25, 23},
                           {"blackwell", kBoth, 16, 25, 32, 25, 23}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const ArithmeticProfile* profile = profile_named(row.name);
    ASSERT_NE(profile, nullptr);
    EXPECT_EQ(profile->evidence, "published");
    EXPECT_EQ(profile->operands, row.operands);
    EXPECT_EQ(profile->sixteen_bit.products_per_step, row.products);
    EXPECT_EQ(profile->sixteen_bit.alignment_bits, row.alignment);
    EXPECT_EQ(profile->sixteen_bit.kept_bits, 23);
    EXPECT_EQ(profile->fp8_fast.products_per_step, row.fp8_products);
    EXPECT_EQ(profile->fp8_fast.alignment_bits, row.fp8_alignment);
    EXPECT_EQ(profile->fp8_fast.kept_bits, row.fp8_kept);
    EXPECT_FALSE(profile->fp8_promoted.exists());
  }
}

TEST(Profile, FastAndPromotedDifferOnlyInPromotion) {
  Accumulator promoted = kHopper.fp8_promoted;
  EXPECT_EQ(promoted.promotion_interval, 4 * promoted.products_per_step);
  EXPECT_EQ(promoted.products_per_step, kHopper.fp8_fast.products_per_step);
  EXPECT_EQ(promoted.alignment_bits, kHopper.fp8_fast.alignment_bits);
  EXPECT_EQ(promoted.kept_bits, kHopper.fp8_fast.kept_bits);
}

}  // namespace
}  // namespace shardcheck
