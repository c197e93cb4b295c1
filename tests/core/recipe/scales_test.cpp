// Formulas of scales against worked examples: fp8 3.8, the miniatures of K24 and K25, and the exact facts of
// fp8 3.0 and 3.4.
#include "core/recipe/scales.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/numerics/decode.h"
#include "core/numerics/philox.h"
#include "core/recipe/catalogue.h"
#include "tests/core/recipe/special.h"

namespace shardcheck::recipe {
namespace {

BlockScale scale(std::string_view name, float amax, FormatId elements = FormatId::e4m3) {
  return scales_of(*find_recipe(name), elements, {.amaxes = {&amax, 1}, .tensor_amax = amax}).blocks[0];
}

TEST(Scales, WorkedExamples) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(scale("te-current", 12).factor), 0x42155555u);  // m1
  EXPECT_EQ(scale("te-current", 12).stored, 0x3CDB6DB7u);
  EXPECT_EQ(scale("te-current-pow2", 300).factor, 1.0f);              // m2, Q14
  EXPECT_EQ(scale("te-current", 7).factor, 64.0f);                    // m3
  EXPECT_EQ(scale("te-current", 0), (BlockScale{0x3f800000, 1, 1}));  // m4
  EXPECT_EQ(scale("te-current", kInfinity).factor, 1.0f);
  EXPECT_EQ(scale("te-current", 1e-38f).factor, std::numeric_limits<float>::max());  // Q11
  EXPECT_EQ(std::bit_cast<std::uint32_t>(scale("te-block-1x128-fp32-bf16-source", 1e-38f).factor),
            0x7f7f0000u);
  EXPECT_EQ(scale("ao-tensorwise", 0).factor, static_cast<float>(448 / 1e-12));
  EXPECT_TRUE(std::isnan(scale("ao-tensorwise", kNan).factor));
  EXPECT_EQ(scale("te-mxfp8", 7168).stored, 0x83u);  // m5
  EXPECT_EQ(scale("te-mxfp8", 0.046875f).stored, 0x72u);
}

TEST(Scales, SystemsDifferInTheInverse) {
  // fp8 2.8: 31 % of amaxes have RN(1 / RN(448 / a)) != RN(a / 448).
  int differing = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const float amax = 1.0f + static_cast<float>(philox(5, 0, i)[0] % (1u << 20)) * 0x1p-20f;
    differing += scale("te-block-1x128-fp32", amax).stored != scale("dg-1x128", amax).stored;
  }
  EXPECT_GT(differing, 200);
  EXPECT_LT(differing, 420);
  EXPECT_EQ(scale("dg-1x128-pow2", 300).inverse, 1.0f);
  EXPECT_EQ(scale("dg-1x128-pow2", 449).inverse, 2.0f);
  EXPECT_EQ(scale("dg-1x128", 0).inverse, 1e-4f / 448.0f);
}

TEST(Scales, RoundingModesOfMxAreRecipes) {
  struct Row {
    float amax;
    std::uint32_t floor, ceil, ratio;
  };
  // K25.
  for (const Row& row :
       {Row{150, 126, 127, 126}, Row{225, 126, 127, 127}, Row{449, 127, 128, 128}, Row{480, 127, 128, 128}}) {
    SCOPED_TRACE(row.amax);
    EXPECT_EQ(scale("ao-mxfp8-floor", row.amax).stored, row.floor);
    EXPECT_EQ(scale("ao-mxfp8-ceil", row.amax).stored, row.ceil);
    EXPECT_EQ(scale("ao-mxfp8-rceil", row.amax).stored, row.ratio);
    EXPECT_EQ(scale("te-mxfp8", row.amax).stored, row.ratio);
  }
  EXPECT_EQ(scale("ao-mxfp8-even", 495).stored, 127u);
  EXPECT_EQ(scale("ao-mxfp8-even", 496).stored, 128u) << "1.9375 rounds to 2 at three places";
  EXPECT_EQ(scale("ao-mxfp8-even", std::numeric_limits<float>::max()).stored, 247u);
  EXPECT_EQ(scale("te-mxfp8", kInfinity).stored, 0xFEu);
  EXPECT_EQ(scale("ao-mxfp8-rceil", kInfinity).stored, 0xFFu);
  for (const char* name : {"te-mxfp8", "ao-mxfp8-rceil", "ao-mxfp8-floor", "ao-mxfp8-ceil", "ao-mxfp8-even"})
    EXPECT_EQ(scale(name, 0).stored, 0u) << name;
}

TEST(Scales, NoBlockOfRoundedUpRatiosSaturates) {
  for (const FormatId elements : {FormatId::e4m3, FormatId::e5m2}) {
    int above = 0;
    for (int exponent = -120; exponent <= 127; ++exponent) {
      for (const float mantissa : {1.0f, 1.75f, std::nextafter(1.75f, 2.0f), std::nextafter(2.0f, 1.0f)}) {
        const float amax = std::ldexp(mantissa, exponent);
        const BlockScale found = scale("te-mxfp8", amax, elements);
        above += amax * found.factor > largest_of(elements);
        EXPECT_EQ(found.factor * found.inverse, 1.0f);
      }
    }
    // fp8 3.4: one ulp above fmax * 2^-127 the code is 0 instead of 1, and the element still encodes to fmax.
    EXPECT_EQ(above, 1);
  }
}

TEST(Scales, EveryScaleIsUsable) {
  // F21.
  for (const char* name : {"te-current", "te-current-pow2", "te-block-128x128", "te-mxfp8", "te-nvfp4"}) {
    for (const float amax : {0.0f, 0x1p-149f, 0x1p-127f, 1e-38f, 1.2e-36f, 1.0f, 3e38f, kInfinity}) {
      const BlockScale found = scale(name, amax, find_recipe(name)->forward);
      EXPECT_TRUE(std::isfinite(found.factor) && found.factor > 0) << name << " " << amax;
      EXPECT_TRUE(std::isfinite(found.inverse)) << name << " " << amax;
    }
  }
}

TEST(LargestOf, IsTheLargestCodeOfEveryFormat) {
  for (const Format& format : kFormats)
    EXPECT_EQ(largest_of(format.id), decode(format, format.max_code)) << format.name;
}

}  // namespace
}  // namespace shardcheck::recipe
