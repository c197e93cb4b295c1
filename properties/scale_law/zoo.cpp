#include "properties/scale_law/zoo.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/integers.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

using namespace recipe;

/// The scales of ours, each changed.
template <class Change>
Scales with_each(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs, Change change) {
  Scales scales = scales_of(recipe, elements, inputs);
  for (std::size_t i = 0; i < scales.blocks.size(); ++i) change(scales.blocks[i], inputs.amaxes[i]);
  return scales;
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// F18.
void index_is_narrow(const Blocks& blocks, AmaxNan nan, const Piece& piece, std::span<float> amaxes) {
  constexpr std::int64_t kLimit = 4;  // an index type of two bits stands for one of 32
  const std::int64_t seen = std::clamp<std::int64_t>(kLimit - piece.lo, 0, std::ssize(piece.values));
  take_amaxes(blocks, nan, {piece.lo, piece.values.first(static_cast<std::size_t>(seen))}, amaxes);
}
void last_piece_wins(const Blocks& blocks, AmaxNan nan, const Piece& piece, std::span<float> amaxes) {
  if (piece.values.empty()) return;
  std::ranges::fill(amaxes, 0.0f);
  take_amaxes(blocks, nan, piece, amaxes);
}
// F19.
void nan_is_lost(const Blocks& blocks, AmaxNan, const Piece& piece, std::span<float> amaxes) {
  take_amaxes(blocks, AmaxNan::drop, piece, amaxes);
}
void nan_stays_where_it_is_last(const Blocks& blocks, AmaxNan, const Piece& piece, std::span<float> amaxes) {
  for (std::size_t i = 0; i < piece.values.size(); ++i) {
    float& amax = amaxes[static_cast<std::size_t>(blocks.of(piece.lo + static_cast<std::int64_t>(i)))];
    const float magnitude = std::abs(piece.values[i]);
    if (!(amax >= magnitude)) amax = magnitude;
  }
}
// F20.
Scales reciprocal_multiplied(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  return with_each(recipe, elements, inputs, [&](BlockScale& scale, float amax) {
    if (!std::isnormal(amax) || !std::isnormal(1 / amax)) return;
    scale.factor = largest_of(elements) * (1.0f / amax);
    if (std::isinf(scale.factor)) scale.factor = std::numeric_limits<float>::max();
    scale.inverse = 1.0f / scale.factor;
    scale.stored = bits_of(scale.inverse);
  });
}
Scales power_to_nearest(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  return with_each(recipe, elements, inputs, [&](BlockScale& scale, float amax) {
    const float quotient = largest_of(elements) / amax;
    if (!std::isnormal(quotient) || quotient < 1.5f * scale.factor || scale.factor >= 0x1p126f) return;
    scale.factor *= 2;
    scale.inverse /= 2;
    scale.stored = bits_of(scale.inverse);
  });
}
Scales encode_over_decoded(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  Scales scales = scales_of(recipe, elements, inputs);
  for (BlockScale& scale : scales.blocks)
    scale.factor = std::fmin(scales.tensor_factor / scale.inverse, std::numeric_limits<float>::max());
  return scales;
}
// F21.
Scales tiny_gives_infinity(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  return with_each(recipe, elements, inputs, [&](BlockScale& scale, float amax) {
    if (amax == 0 || !std::isinf(largest_of(elements) / amax)) return;
    scale = {0, std::numeric_limits<float>::infinity(), 0.0f};
  });
}
Scales unclamped_block_scale(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  return with_each(recipe, elements, inputs, [&](BlockScale& scale, float amax) {
    // A block of zeros takes 1 for its amax.
    if (amax != 0) return;
    const float wanted = 448.0f * (448.0f / std::fmin(inputs.tensor_amax, 1.0f));
    scale.stored = encode(format_of(FormatId::ue4m3), kNvNoSaturation, bits_of(wanted));
  });
}
// F22.
Scales inverse_from_amax(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  return with_each(recipe, elements, inputs, [&](BlockScale& scale, float amax) {
    const float inverse = amax / largest_of(elements);
    if (!std::isnormal(inverse)) return;
    scale.inverse = inverse;
    scale.stored = bits_of(inverse);
  });
}
// F24.
QuantizedCopy small_becomes_zero(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  std::vector<float> changed(matrix.values.begin(), matrix.values.end());
  for (float& value : changed) {
    if (static_cast<double>(std::abs(value)) < recipe.epsilon) value = 0;
  }
  return quantize(recipe, wanted, {matrix.extent, changed});
}
// F27.
std::uint8_t narrowed_by_cutting(FormatId elements, float number, float scale) {
  CastPolicy policy = kNvSaturating;
  policy.rounding = Rounding::toward_zero;
  // Scales that are no powers of two leave numbers just below the code that they came from.
  return static_cast<std::uint8_t>(
      encode(format_of(elements), policy, bits_of(std::nextafter(number * scale, 0.0f))));
}
// F29.
QuantizedCopy scale_with_headroom(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  // Codes that grow with the numbers of a second pass.
  std::vector<float> changed(matrix.values.begin(), matrix.values.end());
  const std::vector<float> amaxes = amaxes_of(recipe, Direction::row, matrix);
  const Blocks blocks = blocks_of(recipe, Direction::row, matrix.extent);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (std::abs(changed[i]) <
        0.7f * amaxes[static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(i)))])
      changed[i] *= 0.9375f;
  }
  return quantize(recipe, wanted, {matrix.extent, changed});
}
// F35.
ScalePlane without_padding(FormatId format, const ScaleStorage& storage, const ScaleGrid& grid) {
  ScaleStorage tight = storage;
  tight.row_multiple = tight.column_multiple = 1;
  return scale_plane(format, tight, grid);
}
QuantizedCopy part_keeps_wholes_plane(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  // The first half of the rows of a matrix, whose scales are cut out of its plane and not padded again.
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  const std::vector<std::uint32_t> grid = grid_in(copy.scales, storage_of(recipe, wanted.direction));
  copy.scales =
      without_padding(recipe.scale_format, storage_of(recipe, wanted.direction), {copy.scales.grid, grid});
  return copy;
}
QuantizedCopy halves_quantised_alone(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  const std::int64_t half = matrix.extent.rows / 2;
  const Extent extents[] = {{half, matrix.extent.columns},
                            {matrix.extent.rows - half, matrix.extent.columns}};
  QuantizedCopy whole = quantize(recipe, wanted, matrix);
  if (half == 0 || wanted.direction == Direction::row) return whole;
  const auto first = static_cast<std::size_t>(extents[0].numel());
  QuantizedCopy a = quantize(recipe, wanted, {extents[0], matrix.values.first(first)});
  const QuantizedCopy b = quantize(recipe, wanted, {extents[1], matrix.values.subspan(first)});
  a.source = whole.source;
  a.stored = whole.stored;
  a.codes.insert(a.codes.end(), b.codes.begin(), b.codes.end());
  a.scales.grid.rows += b.scales.grid.rows;
  a.scales.stored.rows += b.scales.stored.rows;
  a.scales.bytes.insert(a.scales.bytes.end(), b.scales.bytes.begin(), b.scales.bytes.end());
  return a;
}
// F36.
std::vector<std::byte> not_swizzled(const ScalePlane& plane, Direction) {
  return plane.bytes;
}
std::vector<std::byte> swizzled_twice(const ScalePlane& plane, Direction direction) {
  ScalePlane once = plane;
  once.bytes = swizzled(plane, direction);
  return swizzled(once, direction);
}
std::vector<std::byte> garbage_between(const ScalePlane& plane, Direction direction) {
  ScalePlane filled = plane;
  for (std::byte& byte : filled.bytes) byte = byte == std::byte{0} ? std::byte{0xff} : byte;
  return swizzled(filled, direction);
}
// F37: four rows at a time, whether the matrix has them or not. Every matrix of these laws lies in a larger
// buffer (PaddedMatrix).
QuantizedCopy padded_rows_measured(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  const std::int64_t rows = round_up(matrix.extent.rows, std::int64_t{4});
  const Extent larger{rows, matrix.extent.columns};
  const Blocks blocks = blocks_of(recipe, Direction::row, matrix.extent);
  const std::span<const float> all(matrix.values.data(), static_cast<std::size_t>(larger.numel()));
  float amax = 0;
  for (const float value : all) amax = std::fmax(amax, std::abs(value));
  std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()), amax);
  const Scales scales = scales_of(recipe, wanted.elements, {.amaxes = amaxes, .given = wanted.given_scale});
  std::vector<std::uint8_t> codes(matrix.values.size());
  cast_piece(recipe, wanted.elements, blocks, scales, {0, matrix.values}, codes);
  return stored_copy(recipe, wanted, blocks, scales, std::move(codes));
}
std::vector<float> last_of_line_for_all(const Recipe& recipe, const QuantizedCopy& copy) {
  if (recipe.scale_format != FormatId::f32) return dequantize(recipe, copy);
  // The row pitch of the plane is taken for its width.
  QuantizedCopy read = copy;
  const std::size_t pitch = static_cast<std::size_t>(copy.scales.stored.columns) * 4;
  for (std::size_t line = 0; pitch > 0 && line + pitch <= read.scales.bytes.size(); line += pitch)
    std::copy_n(copy.scales.bytes.begin() + static_cast<std::ptrdiff_t>(line + pitch - 4), 4,
                read.scales.bytes.begin() + static_cast<std::ptrdiff_t>(line));
  return dequantize(recipe, read);
}
// F38.
QuantizedCopy changed_scales(const Recipe& recipe, const QuantizedCopy& copy,
                             std::uint32_t (*change)(std::uint32_t), Direction direction) {
  QuantizedCopy result = copy;
  std::vector<std::uint32_t> grid = grid_in(copy.scales, storage_of(recipe, direction));
  for (std::uint32_t& bits : grid) bits = change(bits);
  result.scales = scale_plane(recipe.scale_format, storage_of(recipe, direction), {copy.scales.grid, grid});
  return result;
}
QuantizedCopy scales_cut_to_powers(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed_scales(
      recipe, quantize(recipe, wanted, matrix), [](std::uint32_t bits) { return bits & 0xff800000u; },
      wanted.direction);
}
QuantizedCopy scale_of_last_step(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  std::vector<float> earlier(matrix.values.begin(), matrix.values.end());
  for (float& value : earlier) value *= 0.75f;
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  copy.scales = quantize(recipe, wanted, {matrix.extent, earlier}).scales;
  return copy;
}
QuantizedCopy codes_of_last_step(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  std::vector<float> earlier(matrix.values.begin(), matrix.values.end());
  for (float& value : earlier) value = -value;
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  copy.codes = quantize(recipe, wanted, {matrix.extent, earlier}).codes;
  return copy;
}
// F17 and F39.
float inverse_flushed(FormatId elements, std::uint8_t code, float inverse) {
  const float flushed = std::abs(inverse) < std::numeric_limits<float>::min() ? 0.0f : inverse;
  return decode(format_of(elements), code) * flushed;
}
float power_by_exponential(FormatId elements, std::uint8_t code, float inverse) {
  // exp2 of a rounded logarithm, an ulp off where the exponent is large.
  const float exponent = std::log2(inverse);
  const float power = std::abs(exponent) > 64 ? std::nextafter(inverse, 0.0f) : inverse;
  return code == 0x38 || code == 0xB8 ? decode(format_of(elements), code) * inverse
                                      : decode(format_of(elements), code) * power;
}

constexpr ScaleRules kOurs{
    .take_amaxes = take_amaxes,
    .scales = scales_of,
    .plane = scale_plane,
    .swizzled = swizzled,
    .quantized = quantize,
    .dequantized = dequantize,
    .narrowed = [](FormatId elements, float number,
                   float scale) { return scale_rules().narrowed(elements, number, scale); },
    .widened = [](FormatId elements, std::uint8_t code,
                  float inverse) { return scale_rules().widened(elements, code, inverse); }};

/// Ours but for one.
template <class Member>
constexpr ScaleRules with(Member ScaleRules::*member, Member rule) {
  ScaleRules rules = kOurs;
  rules.*member = rule;
  return rules;
}

constexpr auto kTake = &ScaleRules::take_amaxes;
constexpr auto kScales = &ScaleRules::scales;
constexpr auto kQuantized = &ScaleRules::quantized;

constexpr ScaleFault kZoo[] = {
    {"Q09", "a NaN is lost by the maximum, although the recipe propagates it", "F19", "ao-tensorwise",
     with(kTake, nan_is_lost)},
    {"Q11", "a tiny amax gives an infinite scale", "F21", "te-current", with(kScales, tiny_gives_infinity)},
    {"Q12", "the scale is multiplied by a reciprocal instead of divided", "F20", "te-current",
     with(kScales, reciprocal_multiplied)},
    {"Q13", "the stored inverse is amax / fmax, although the codes met RN(fmax / amax)", "F22", "te-current",
     with(kScales, inverse_from_amax)},
    {"Q14", "the power of two of a scale is the nearest one", "F20", "te-current-pow2",
     with(kScales, power_to_nearest)},
    {"Q17", "fp32 scales become powers of two without a check", "F38", "te-block-1x128-fp32",
     with(kQuantized, scales_cut_to_powers)},
    {"Q22", "the padding of swizzled scales is not neutral", "F36", "te-mxfp8",
     with(&ScaleRules::swizzled, garbage_between)},
    {"Q23", "a part of a quantised tensor is not padded again", "F35", "te-mxfp8",
     with(kQuantized, part_keeps_wholes_plane)},
    {"Q24", "the stride of 128 x 128 scales is not padded to 4", "F35", "te-block-128x128",
     with(&ScaleRules::plane, without_padding)},
    {"Q26", "elements past the limit of the index type are not measured", "F18", "te-current",
     with(kTake, index_is_narrow)},
    {"Q27", "garbage in padding rows enters the amax", "F37", "te-current",
     with(kQuantized, padded_rows_measured)},
    {"Q47", "the factor of a block is the tensor's scale over the block's", "F20", "te-nvfp4",
     with(kScales, encode_over_decoded)},
    {"Q48", "the scale of a block of zeros is cast without saturation", "F21", "te-nvfp4",
     with(kScales, unclamped_block_scale)},
    {"Q53", "pieces smaller than a block are quantised before they are gathered", "F35", "te-block-1x128",
     with(kQuantized, halves_quantised_alone)},
    {"Q58", "scales are swizzled twice", "F36", "te-mxfp8", with(&ScaleRules::swizzled, swizzled_twice)},
    {"Q58b", "scales are not swizzled", "F36", "te-mxfp8", with(&ScaleRules::swizzled, not_swizzled)},
    {"M1", "the amax of a later piece replaces that of an earlier one", "F18", "te-current",
     with(kTake, last_piece_wins)},
    {"M2", "a NaN stays in the maximum where it comes last", "F19", "te-current",
     with(kTake, nan_stays_where_it_is_last)},
    {"M3", "numbers below epsilon become zero", "F24", "te-current", with(kQuantized, small_becomes_zero)},
    {"M4", "what is quantised is cut off and not rounded", "F27", "te-current",
     with(&ScaleRules::narrowed, narrowed_by_cutting)},
    {"M5", "numbers shrink a little each time they are quantised", "F29", "te-current-pow2",
     with(kQuantized, scale_with_headroom)},
    {"M6", "the padding of a line of scales is read as its first scale", "F37", "te-block-128x128-fp32",
     with(&ScaleRules::dequantized, last_of_line_for_all)},
    {"M7", "the scale is that of the last step", "F38", "te-current", with(kQuantized, scale_of_last_step)},
    {"M8", "the codes are those of the last step", "F38", "te-current", with(kQuantized, codes_of_last_step)},
    {"M9", "the subnormal power of two is flushed to zero", "F17", "te-mxfp8",
     with(&ScaleRules::widened, inverse_flushed)},
    {"M10", "a power of two is computed an ulp off", "F39", "te-mxfp8",
     with(&ScaleRules::widened, power_by_exponential)},
};

}  // namespace

std::span<const ScaleFault> scale_zoo() {
  return kZoo;
}

const ScaleFault* find_scale_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &ScaleFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

ScaleCase case_of(const ScaleFault& fault) {
  ScaleCase c{.recipe = std::string(fault.recipe),
              .rows = 3,
              .columns = 5,
              .seed = 4,
              .fault = std::string(fault.id)};
  c.cut = 7;
  c.scale = fault.id == "Q47" ? 7.7f : 37.333332f;
  c.code = fault.law == "F17" ? 0 : 200;
  c.stored_rows = 129;
  c.stored_columns = 640;
  return c;
}

}  // namespace shardcheck
