// One entry a recipe. Designated fields only: what an entry does not say is the default of recipe.h.
#include "core/recipe/catalogue.h"

#include <algorithm>

namespace shardcheck::recipe {
namespace {

constexpr BlockShape kTensor{}, kLine{.along = 0, .across = 1};
constexpr BlockShape k1x128{128, 1}, k128x128{128, 128}, k1x32{32, 1}, k32x32{32, 32};
constexpr BlockShape k1x16{16, 1}, k16x16{16, 16};

// fp8 3.3: a scale_inv for each (block, row), so that a product reads neighbours of one k-block together.
constexpr ScaleStorage kProductReadyRows{.transposed = true, .column_multiple = 4};
constexpr ScaleStorage kProductReadyColumns{.column_multiple = 4};
constexpr ScaleStorage kGrid{.column_multiple = 4};
constexpr ScaleStorage kTransposedGrid{.transposed = true, .column_multiple = 4};
// fp8 3.4.
constexpr ScaleStorage kMxRows{.row_multiple = 128, .column_multiple = 4};
constexpr ScaleStorage kMxColumns{.row_multiple = 4, .column_multiple = 128};

constexpr Recipe blockwise(std::string_view name, std::string_view sentence, Recipe rest) {
  rest.name = name;
  rest.section = "3.3";
  rest.sentence = sentence;
  const bool tile = rest.block == k128x128;
  rest.second_copy = tile ? SecondCopy::transposed_with_grid : SecondCopy::requantised_transposed;
  rest.row_scales = tile ? kGrid : kProductReadyRows;
  rest.column_scales = tile ? kTransposedGrid : kProductReadyColumns;
  rest.multiples = {128, 128};
  return rest;
}

constexpr Recipe mx(std::string_view name, std::string_view sentence, Recipe rest) {
  rest.name = name;
  rest.section = "3.4";
  rest.sentence = sentence;
  rest.scale_format = FormatId::e8m0;
  rest.row_scales = kMxRows;
  rest.column_scales = kMxColumns;
  rest.second_copy = SecondCopy::requantised_in_place;
  rest.swizzled_for_products = true;
  rest.multiples = {32, 32};
  return rest;
}

/// bf16's largest number, where a direct kernel quantises bf16 (fp8 3.0).
constexpr std::uint32_t kLargestBf16 = 0x7f7f0000;

constexpr Recipe kRecipes[] = {
    {.name = "te-delayed",
     .section = "3.1",
     .sentence = "one scale a tensor, from the amaxes of earlier steps",
     .block = kTensor,
     .gradient = FormatId::e5m2,
     .formula = ScaleFormula::given},
    {.name = "te-current",
     .section = "3.2",
     .sentence = "one scale a tensor, from its own amax",
     .block = kTensor,
     .gradient = FormatId::e5m2},
    {.name = "te-current-pow2",
     .section = "3.2",
     .sentence = "one power of two a tensor, from its own amax",
     .block = kTensor,
     .gradient = FormatId::e5m2,
     .power_of_two = PowerOfTwo::down},
    {.name = "ao-tensorwise",
     .section = "3.2",
     .sentence = "one scale a tensor, divided in fp64; NaN spoils it",
     .block = kTensor,
     .gradient = FormatId::e5m2,
     .formula = ScaleFormula::quotient_f64,
     .amax_nan = AmaxNan::propagate,
     .epsilon = 1e-12},
    {.name = "ao-tensorwise-pow2",
     .section = "3.2",
     .sentence = "one power of two a tensor, divided in fp64; NaN spoils it",
     .block = kTensor,
     .gradient = FormatId::e5m2,
     .formula = ScaleFormula::quotient_f64,
     .power_of_two = PowerOfTwo::down,
     .amax_nan = AmaxNan::propagate,
     .epsilon = 1e-12},
    {.name = "ao-rowwise",
     .section = "3.6",
     .sentence = "one scale a row or column, divided in fp64; NaN spoils it",
     .block = kLine,
     .formula = ScaleFormula::quotient_f64,
     .amax_nan = AmaxNan::propagate,
     .epsilon = 1e-12,
     .second_copy = SecondCopy::requantised_transposed},
    blockwise("te-block-1x128", "powers of two for 1 x 128 blocks",
              {.block = k1x128, .power_of_two = PowerOfTwo::down}),
    blockwise("te-block-1x128-fp32", "fp32 scales for 1 x 128 blocks", {.block = k1x128}),
    blockwise("te-block-1x128-fp32-bf16-source",
              "fp32 scales for 1 x 128 blocks; a quotient that overflows becomes bf16's largest number",
              {.block = k1x128, .value_for_infinity = kLargestBf16}),
    blockwise("te-block-128x128", "powers of two for 128 x 128 blocks",
              {.block = k128x128, .power_of_two = PowerOfTwo::down}),
    blockwise("te-block-128x128-fp32", "fp32 scales for 128 x 128 blocks", {.block = k128x128}),
    blockwise("dg-1x128", "the inverse is divided and stored, the element multiplied by its reciprocal",
              {.block = k1x128,
               .formula = ScaleFormula::inverse_quotient,
               .amax_nan = AmaxNan::propagate,
               .epsilon = 1e-4}),
    blockwise("dg-1x128-pow2", "as dg-1x128, the inverse rounded up to a power of two",
              {.block = k1x128,
               .formula = ScaleFormula::inverse_quotient,
               .power_of_two = PowerOfTwo::up,
               .amax_nan = AmaxNan::propagate,
               .epsilon = 1e-4}),
    blockwise("dg-128x128", "as dg-1x128, for 128 x 128 blocks",
              {.block = k128x128,
               .formula = ScaleFormula::inverse_quotient,
               .amax_nan = AmaxNan::propagate,
               .epsilon = 1e-4}),
    blockwise("dg-128x128-pow2", "as dg-1x128-pow2, for 128 x 128 blocks",
              {.block = k128x128,
               .formula = ScaleFormula::inverse_quotient,
               .power_of_two = PowerOfTwo::up,
               .amax_nan = AmaxNan::propagate,
               .epsilon = 1e-4}),
    mx("te-mxfp8", "E8M0 scales for 1 x 32 blocks, amax / fmax rounded up",
       {.block = k1x32, .formula = ScaleFormula::ratio_up_reciprocal}),
    mx("te-mxfp8-32x32", "E8M0 scales for 32 x 32 blocks, replicated for both directions",
       {.block = k32x32, .formula = ScaleFormula::ratio_up_reciprocal}),
    mx("ao-mxfp8-rceil", "E8M0 scales, the divided ratio rounded up",
       {.block = k1x32, .formula = ScaleFormula::ratio_up, .amax_nan = AmaxNan::propagate}),
    mx("ao-mxfp8-floor", "E8M0 scales, the exponent of amax; the largest elements may saturate",
       {.block = k1x32, .formula = ScaleFormula::exponent_down, .amax_nan = AmaxNan::propagate}),
    mx("ao-mxfp8-ceil", "E8M0 scales, the exponent of amax rounded up",
       {.block = k1x32, .formula = ScaleFormula::exponent_up, .amax_nan = AmaxNan::propagate}),
    mx("ao-mxfp8-even", "E8M0 scales, the exponent of amax rounded to the element's mantissa",
       {.block = k1x32, .formula = ScaleFormula::exponent_even, .amax_nan = AmaxNan::propagate}),
    {.name = "te-nvfp4",
     .section = "3.5",
     .sentence = "E4M3 scales for 1 x 16 blocks of E2M1 under one fp32 scale a tensor",
     .block = k1x16,
     .forward = FormatId::e2m1,
     .gradient = FormatId::e2m1,
     .formula = ScaleFormula::two_level,
     .second_copy = SecondCopy::requantised_transposed,
     .scale_format = FormatId::ue4m3,
     .column_scales = {.transposed = true},
     .multiples = {16, 16}},
    {.name = "te-nvfp4-16x16",
     .section = "3.5",
     .sentence = "E4M3 scales for 16 x 16 blocks of E2M1 under one fp32 scale a tensor",
     .block = k16x16,
     .forward = FormatId::e2m1,
     .gradient = FormatId::e2m1,
     .formula = ScaleFormula::two_level,
     .second_copy = SecondCopy::transposed_with_grid,
     .scale_format = FormatId::ue4m3,
     .column_scales = {.transposed = true},
     .multiples = {16, 16}},
};

}  // namespace

std::span<const Recipe> recipes() {
  return kRecipes;
}

const Recipe* find_recipe(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
  return found == std::end(kRecipes) ? nullptr : &*found;
}

}  // namespace shardcheck::recipe
