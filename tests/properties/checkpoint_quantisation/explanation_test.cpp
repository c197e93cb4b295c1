// Every kind of difference is named as what it is, by the damage that makes it; what is none of them is not
// explained.
#include "properties/checkpoint_quantisation/explanation.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/numerics/encode.h"
#include "core/numerics/narrow.h"
#include "tests/properties/checkpoint_quantisation/damaged.h"

namespace shardcheck::verify {
namespace {

using Codes = Damaged::Codes;
using Scales = std::vector<std::uint32_t>;

constexpr recipe::Extent kExtent{256, 512};

std::string kinds_after(std::string_view recipe, const Damaged::Damage& damage, bool with_source = true) {
  Damaged weight(recipe, kExtent);
  return kinds_of(weight.verified(with_source, damage));
}

void expect_kind(const std::string& kinds, const std::string& sentence) {
  EXPECT_NE(kinds.find(sentence), std::string::npos) << "expected: " << sentence << "\nactual: " << kinds;
}

std::uint32_t times(std::uint32_t scale, float factor) {
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(scale) * factor);
}

/// Codes of the values under scales that a test chooses, one a block.
Codes codes_by(const Damaged& weight, const std::vector<float>& values, auto factor, auto encode_one) {
  Codes codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto block = static_cast<std::size_t>(weight.blocks().of(static_cast<std::int64_t>(i)));
    codes.push_back(encode_one(values[i] * factor(block)));
  }
  return codes;
}

std::vector<recipe::BlockScale> scales_of(const Damaged& weight, const std::vector<float>& values) {
  const auto amaxes = recipe::amaxes_of(weight.recipe(), recipe::Direction::row, {kExtent, values});
  return recipe::scales_of(weight.recipe(), FormatId::e4m3, {.amaxes = amaxes}).blocks;
}

std::uint8_t e4m3(float x, CastPolicy policy = kNvSaturating) {
  return static_cast<std::uint8_t>(
      encode(format_of(FormatId::e4m3), policy, std::bit_cast<std::uint32_t>(x)));
}

TEST(Explanation, AScaleTwiceAsLarge) {
  const auto twice = [](Codes&, Scales& scales) { scales[3] = times(scales[3], 2); };
  expect_kind(kinds_after("te-block-128x128", twice),
              "F20 the codes are right; the stored scale is twice the right one: 1;");
  expect_kind(kinds_after("te-mxfp8", [](Codes&, Scales& scales) { --scales[40]; }),
              "F20 the codes are right; the stored scale is half the right one: 1;");
}

TEST(Explanation, TheScaleOfANeighbour) {
  expect_kind(kinds_after("te-block-128x128-fp32", [](Codes&, Scales& scales) { scales[1] = scales[2]; }),
              "F38 the codes are right; the stored scale is that of the block to the right: 1;");
  expect_kind(kinds_after("te-block-128x128-fp32", [](Codes&, Scales& scales) { scales[1] = scales[5]; }),
              "F38 the codes are right; the stored scale is that of the block below: 1;");
  expect_kind(kinds_after("te-block-128x128-fp32", [](Codes&, Scales& scales) { scales[0] = scales[7]; }),
              "F38 the codes are right; the stored scale is that of another block: 1;");
}

TEST(Explanation, TheScaleWhereItsInverseBelongs) {
  Damaged weight("te-block-1x128-fp32", kExtent);
  const auto right = scales_of(weight, weight.values());
  expect_kind(
      kinds_of(weight.verified(true,
                               [&](Codes&, Scales& scales) {
                                 for (std::size_t b = 0; b < scales.size(); ++b)
                                   scales[b] = std::bit_cast<std::uint32_t>(right[b].factor);
                               })),
      "F22 the codes are right; the stored scale is the scale itself, where its inverse belongs: 64;");
}

TEST(Explanation, AnotherRecipeMadeIt) {
  // Held against powers of two, quantised with fp32 scales; the other way round; with another fmax.
  const auto by = [](std::string_view held, std::string_view made) {
    Damaged weight(held, kExtent);
    const auto copy = recipe::quantize(
        *recipe::find_recipe(made), {recipe::Direction::row, FormatId::e4m3, 1}, {kExtent, weight.values()});
    return kinds_of(weight.verified(true, [&](Codes& codes, Scales& scales) {
      codes = copy.codes;
      scales = recipe::grid_in(copy.scales, recipe::find_recipe(made)->row_scales);
    }));
  };
  expect_kind(by("te-block-128x128", "te-block-128x128-fp32"),
              "F20 the scale is that of te-block-128x128-fp32, and made the codes too: 8;");
  expect_kind(by("te-block-1x128-fp32", "dg-1x128"), "that of dg-1x128");
  expect_kind(by("te-mxfp8", "ao-mxfp8-floor"), "that of ao-mxfp8-floor");
}

TEST(Explanation, AScaleForAnotherLargestNumber) {
  Damaged weight("te-block-128x128-fp32", kExtent);
  const auto amaxes = recipe::amaxes_of(weight.recipe(), recipe::Direction::row, {kExtent, weight.values()});
  const auto kinds = kinds_of(weight.verified(true, [&](Codes& codes, Scales& scales) {
    const auto factor = [&](std::size_t b) { return 240.0f / amaxes[b]; };
    for (std::size_t b = 0; b < scales.size(); ++b)
      scales[b] = std::bit_cast<std::uint32_t>(1.0f / factor(b));
    codes = codes_by(weight, weight.values(), factor, [](float x) { return e4m3(x); });
  }));
  expect_kind(kinds,
              "F20 the scale is that for the largest number of e4m3fnuz, 240, and made the codes too: 8;");
}

TEST(Explanation, OtherRoundings) {
  const auto rounded_by = [](auto one) {
    Damaged weight("te-block-128x128-fp32", kExtent);
    const auto right = scales_of(weight, weight.values());
    return kinds_of(weight.verified(true, [&](Codes& codes, Scales&) {
      codes = codes_by(
          weight, weight.values(), [&](std::size_t b) { return right[b].factor; }, one);
    }));
  };
  CastPolicy down = kNvSaturating;
  down.rounding = Rounding::toward_zero;
  expect_kind(rounded_by([=](float x) { return e4m3(x, down); }), "F3 rounded toward zero: 8;");
  expect_kind(rounded_by([](float x) { return e4m3(bf16_to_f32(f32_to_bf16(x))); }),
              "F12 rounded twice: to bf16, then to e4m3: 8;");
  expect_kind(
      rounded_by(
          [=](float x) { return e4m3(x, std::bit_cast<std::uint32_t>(x) % 3 == 0 ? down : kNvSaturating); }),
      "F3 every code is one of the two around its number: stochastic, or no rounding with a name: 8;");
}

TEST(Explanation, TiesAwayFromZero) {
  // Powers of two as scales keep midpoints where they are.
  std::vector<float> values(static_cast<std::size_t>(kExtent.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i % 16) / 16;
  Damaged weight("te-block-128x128", kExtent, values);
  expect_kind(kinds_of(weight.verified(true,
                                       [](Codes& codes, Scales&) {
                                         for (std::size_t i = 0; i < codes.size(); ++i) {
                                           // 1 + odd/16 lies halfway; even codes are below it every second
                                           // time.
                                           if (i % 16 % 4 == 1) ++codes[i];
                                         }
                                       })),
              "F3 ties rounded away from zero: 8;");
}

TEST(Explanation, OtherOverflow) {
  std::vector<float> values = weights(kExtent, 9);
  values[10] = INFINITY;
  Damaged weight("te-block-1x128", kExtent, values);
  expect_kind(kinds_of(weight.verified(true, [](Codes& codes, Scales&) { codes[10] = 0x7F; })),
              "F7 overflow, infinity and NaN by nv_nosat: 1;");
}

TEST(Explanation, TheSourceWasRoundedFirst) {
  Damaged weight("te-block-1x128-fp32", kExtent);
  std::vector<float> rounded = weight.values();
  for (float& value : rounded) value = bf16_to_f32(f32_to_bf16(value));
  const auto copy =
      recipe::quantize(weight.recipe(), {recipe::Direction::row, FormatId::e4m3, 1}, {kExtent, rounded});
  expect_kind(kinds_of(weight.verified(true,
                                       [&](Codes& codes, Scales& scales) {
                                         codes = copy.codes;
                                         scales = recipe::grid_in(copy.scales, weight.recipe().row_scales);
                                       })),
              "F47 the source was rounded to bf16 first: 64;");
}

TEST(Explanation, TransposedCodesAndGrids) {
  Damaged square("te-block-128x128-fp32", {256, 256});
  const auto grid = [](Codes&, Scales& scales) { std::swap(scales[1], scales[2]); };
  expect_kind(kinds_of(square.verified(true, grid)),
              "F33 the codes are right; the grid of scales is transposed: 2;");
  const auto codes = [](Codes& codes, Scales&) {
    const Codes right = codes;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = right[i % 256 * 256 + i / 256];
  };
  expect_kind(kinds_of(square.verified(true, codes)), "F33 the codes are transposed: 4;");
  // A matrix of another shape, stored as its transpose lies.
  const auto flat = [](Codes& codes, Scales&) {
    const Codes right = codes;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = right[i % 256 * 512 + i / 256];
  };
  expect_kind(kinds_after("te-current", flat), "F32 the codes are transposed: 1;");
}

TEST(Explanation, ShiftsAndPaddedRows) {
  const auto shifted = [](Codes& codes, Scales&) {
    codes.insert(codes.begin(), 16, 0);
    codes.resize(static_cast<std::size_t>(kExtent.numel()));
  };
  expect_kind(kinds_after("te-block-128x128", shifted), "F35 the codes are shifted by 16 elements: 8;");
  const auto padded = [](Codes& codes, Scales&) {
    Codes rows;
    for (std::int64_t r = 0; r < kExtent.rows; ++r) {
      rows.insert(rows.end(), codes.begin() + r * 512, codes.begin() + (r + 1) * 512);
      rows.insert(rows.end(), 8, 0);
    }
    rows.resize(codes.size());
    codes = rows;
  };
  expect_kind(kinds_after("te-block-128x128", padded),
              "F35 the codes are in rows with 8 elements of padding behind each: 8;");
  const auto scales = [](Codes&, Scales& scales) {
    scales.insert(scales.begin(), 0x3f800000);
    scales.pop_back();
  };
  expect_kind(kinds_after("te-block-128x128-fp32", scales),
              "F35 the codes are right; the scales are shifted by 1 block");
}

TEST(Explanation, SwappedNeighbours) {
  const auto swapped = [](Codes& codes, Scales&) {
    for (std::size_t i = 0; i < codes.size(); i += 2) std::swap(codes[i], codes[i + 1]);
  };
  expect_kind(kinds_after("te-mxfp8", swapped), "F13 codes 2i and 2i + 1 changed places");
}

TEST(Explanation, DamageAndStaleBytes) {
  expect_kind(kinds_after("te-block-128x128", [](Codes& codes, Scales&) { codes[1000] ^= 4; }),
              "F38 one bit of one code is flipped: damage, not arithmetic: 1;");
  expect_kind(kinds_after("te-block-128x128-fp32", [](Codes&, Scales& scales) { scales[2] ^= 1u << 20; }),
              "F38 the codes are right; one bit of the stored scale is flipped: 1;");
  Damaged other("te-block-128x128-fp32", kExtent, weights(kExtent, 6));
  const auto copy = recipe::quantize(other.recipe(), {recipe::Direction::row, FormatId::e4m3, 1},
                                     {kExtent, other.values()});
  const auto stale_codes = [&](Codes& codes, Scales&) { codes = copy.codes; };
  expect_kind(kinds_after("te-block-128x128-fp32", stale_codes),
              "F38 the scale is of this source, the codes are not: bytes and scale of two quantisations: 8;");
  const auto stale = [&](Codes& codes, Scales& scales) {
    codes = copy.codes;
    scales = recipe::grid_in(copy.scales, other.recipe().row_scales);
  };
  expect_kind(kinds_after("te-block-128x128-fp32", stale), "another version of the weight (stale)");
}

TEST(Explanation, WhatNoGuessExplainsIsSaid) {
  const auto noise = [](Codes& codes, Scales& scales) {
    for (std::size_t i = 0; i < codes.size(); i += 30)
      codes[i] = static_cast<std::uint8_t>(codes[i] ^ (i / 30 % 100));
    for (auto& scale : scales) scale = times(scale, 1.2345f);
  };
  expect_kind(kinds_after("te-block-128x128-fp32", noise), "not explained by any guess: 8;");
}

TEST(Explanation, WithoutASource) {
  const auto small = [](Codes& codes, Scales&) {
    for (auto& code : codes) code = static_cast<std::uint8_t>((code & 0x7f) >= 16 ? code - 16 : code & 0x80);
  };
  const std::string kinds = kinds_after("te-block-128x128", small, false);
  expect_kind(
      kinds, "F23 the codes use a part of the range: made with a scale that is too large for this block: 8;");
  Damaged weight("te-block-1x128", kExtent);
  const auto copy = recipe::quantize(*recipe::find_recipe("te-block-1x128-fp32"),
                                     {recipe::Direction::row, FormatId::e4m3, 1}, {kExtent, weight.values()});
  expect_kind(kinds_of(weight.verified(false,
                                       [&](Codes& codes, Scales& scales) {
                                         codes = copy.codes;
                                         scales = recipe::grid_in(
                                             copy.scales,
                                             recipe::find_recipe("te-block-1x128-fp32")->row_scales);
                                       })),
              "F20 as te-block-1x128-fp32 quantises: 64;");
}

TEST(Explanation, ShiftedCodesWithoutASource) {
  const auto shifted = [](Codes& codes, Scales&) {
    codes.insert(codes.begin(), 40, 0);
    codes.resize(static_cast<std::size_t>(kExtent.numel()));
  };
  expect_kind(kinds_after("te-block-1x128-fp32", shifted, false), "F35 the codes are shifted by 40 elements");
}

}  // namespace
}  // namespace shardcheck::verify
