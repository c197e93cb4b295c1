// The rows of tensor-core 1.
#include "core/numerics/profile.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Profile, NamesLeadToProfiles) {
  EXPECT_EQ(profile_named("ideal"), &kIdeal);
  EXPECT_EQ(profile_named("hopper"), &kHopper);
  EXPECT_EQ(profile_named("volta"), nullptr);
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
