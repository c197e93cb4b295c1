// The scales and largest codes of random and extreme amaxes lie in the image of every recipe; scales that no
// amax gives do not.
#include "properties/checkpoint_quantisation/scale_image.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/numerics/encode.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

TEST(ScaleImage, HoldsWhatEveryRecipeDoes) {
  std::mt19937 random(1);
  for (const Recipe& recipe : recipes()) {
    if (recipe.formula == ScaleFormula::given) continue;
    const TensorScale tensor = tensor_scale_of(recipe, recipe.forward, 3.0f);
    const ScaleImage image(recipe, recipe.forward, tensor);
    for (int i = 0; i < 20000; ++i) {
      float amax = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x7fffffffu);
      if (i < 200) amax = std::bit_cast<float>(static_cast<std::uint32_t>(i));  // the smallest
      if (i >= 200 && i < 400) amax = std::bit_cast<float>(0x7f800000u - static_cast<std::uint32_t>(i - 200));
      if (i == 0) amax = 0;
      if (std::isnan(amax) || (recipe.formula == ScaleFormula::two_level && amax > 3.0f)) continue;
      const BlockScale scale = block_scale(recipe, recipe.forward, {tensor, amax});
      const std::uint32_t code =
          encode(format_of(recipe.forward), recipe.cast, std::bit_cast<std::uint32_t>(amax * scale.factor));
      if (std::isinf(amax) && recipe.amax_nan == AmaxNan::propagate) continue;  // an infinite or NaN scale
      const auto allowed = image.of(scale.stored);
      ASSERT_TRUE(allowed.has_value()) << recipe.name << " amax " << amax;
      EXPECT_TRUE(image.holds(*allowed, code)) << recipe.name << " amax " << amax << " code " << code;
    }
  }
}

LargestCodes codes_of(std::string_view recipe, float stored) {
  const ScaleImage image(*find_recipe(recipe), FormatId::e4m3, {});
  return image.of(std::bit_cast<std::uint32_t>(stored)).value_or(LargestCodes{});
}

TEST(ScaleImage, IsF23) {
  EXPECT_EQ(codes_of("te-block-128x128", 0.25f).low, 0x76);
  EXPECT_EQ(codes_of("te-block-128x128", 0.25f).high, 0x7E);
  EXPECT_FALSE(codes_of("te-block-128x128", 0.25f).may_be_zero);
  EXPECT_TRUE(codes_of("te-block-128x128", 1.0f).may_be_zero);
  EXPECT_EQ(codes_of("dg-128x128", 0.5f / 448).low, 0x7E);
  // Below epsilon every block has one scale, whatever its largest element.
  EXPECT_EQ(codes_of("dg-128x128", 1e-4f / 448).low, 0);
  EXPECT_TRUE(codes_of("dg-128x128", 1e-4f / 448).may_be_zero);
}

TEST(ScaleImage, LeavesOutWhatNoAmaxGives) {
  const auto has = [](std::string_view recipe, std::uint32_t stored) {
    return ScaleImage(*find_recipe(recipe), FormatId::e4m3, {}).of(stored).has_value();
  };
  for (const char* recipe : {"te-block-128x128", "te-block-128x128-fp32", "dg-128x128"}) {
    for (const std::uint32_t stored : {0u, 0x80000000u, 0x7f800000u, 0x7fc00000u, 0xbf800000u})
      EXPECT_FALSE(has(recipe, stored)) << recipe << " " << stored;
  }
  EXPECT_FALSE(has("te-block-128x128", std::bit_cast<std::uint32_t>(0.75f)));
  EXPECT_FALSE(has("te-mxfp8", 255));
}

}  // namespace
}  // namespace shardcheck::verify
