#include "properties/scale_law/scale_machine.h"

#include <bit>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "properties/fingerprint/one_op.h"
#include "properties/recipe_law/block_machine.h"

namespace shardcheck {
namespace {

std::uint8_t narrowed_by_numerics(FormatId elements, float number, float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(number * scale);
  return static_cast<std::uint8_t>(encode(format_of(elements), kNvSaturating, bits));
}
float widened_by_numerics(FormatId elements, std::uint8_t code, float inverse) {
  return decode(format_of(elements), code) * inverse;
}

constexpr ScaleRules kOurs{.take_amaxes = recipe::take_amaxes,
                           .scales = recipe::scales_of,
                           .plane = recipe::scale_plane,
                           .swizzled = recipe::swizzled,
                           .quantized = recipe::quantize,
                           .dequantized = recipe::dequantize,
                           .narrowed = narrowed_by_numerics,
                           .widened = widened_by_numerics};

DType type_of(FormatId elements) {
  return elements == FormatId::e4m3 ? DType::e4m3 : DType::e5m2;
}

/// The result of one op of a source, a scale and a destination.
std::vector<std::uint32_t> by_op(Backend& backend, const Action& action, const OpOperand& source, float scale,
                                 DType destination) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  const std::size_t numel = source.ranks.front().size() / static_cast<std::size_t>(bytes_of(source.type));
  const OpOperand operands[] = {source, on_one_rank(DType::f32, std::span(&bits, 1)),
                                on_one_rank(destination, std::vector<std::uint32_t>(numel))};
  return codes_of_bytes(destination, execute_op(backend, action, operands).ranks.front());
}

float number_of(DType type, std::uint32_t code) {
  return decode(format_of(*format_id_of(type)), code);
}

}  // namespace

const ScaleRules& scale_rules() {
  return kOurs;
}

void ScaleMachine::take_amaxes(const recipe::Recipe& recipe, const recipe::Blocks& blocks,
                               recipe::AmaxNan nan, const recipe::Piece& piece,
                               std::span<float> amaxes) const {
  if (backend_ != nullptr && nan == recipe.amax_nan && has_block_ops(recipe, recipe.forward))
    return BlockMachine(*backend_).take_amaxes(recipe, blocks, piece, amaxes);
  rules_.take_amaxes(blocks, nan, piece, amaxes);
}

recipe::Scales ScaleMachine::scales(const recipe::Recipe& recipe, FormatId elements,
                                    const recipe::ScaleInputs& inputs) const {
  if (backend_ != nullptr && elements == recipe.forward && has_block_ops(recipe, elements))
    return BlockMachine(*backend_).scales(recipe, inputs.amaxes);
  return rules_.scales(recipe, elements, inputs);
}

recipe::QuantizedCopy ScaleMachine::quantized(const recipe::Recipe& recipe, const recipe::Wanted& wanted,
                                              const recipe::Matrix& matrix) const {
  if (backend_ != nullptr && has_block_ops(recipe, wanted.elements))
    return BlockMachine(*backend_).quantized(recipe, wanted, matrix);
  return rules_.quantized(recipe, wanted, matrix);
}

std::vector<float> ScaleMachine::dequantized(const recipe::Recipe& recipe,
                                             const recipe::QuantizedCopy& copy) const {
  if (backend_ != nullptr && has_block_ops(recipe, copy.elements))
    return BlockMachine(*backend_).dequantized(recipe, copy);
  return rules_.dequantized(recipe, copy);
}

std::vector<std::uint8_t> ScaleMachine::narrowed(FormatId elements, std::span<const float> numbers,
                                                 float scale) const {
  std::vector<std::uint8_t> codes;
  if (backend_ == nullptr) {
    for (const float number : numbers) codes.push_back(rules_.narrowed(elements, number, scale));
    return codes;
  }
  std::vector<std::uint32_t> bits;
  for (const float number : numbers) bits.push_back(std::bit_cast<std::uint32_t>(number));
  constexpr std::int8_t kSaturating = 0;
  for (const std::uint32_t code :
       by_op(*backend_, Quantize{kSaturating}, on_one_rank(DType::f32, bits), scale, type_of(elements)))
    codes.push_back(static_cast<std::uint8_t>(code));
  return codes;
}

std::vector<float> ScaleMachine::widened(FormatId elements, DType type, std::span<const std::uint8_t> codes,
                                         float inverse) const {
  std::vector<float> numbers;
  if (backend_ == nullptr) {
    for (const std::uint8_t code : codes) {
      const float wide = rules_.widened(elements, code, inverse);
      const Format& format = format_of(*format_id_of(type));
      numbers.push_back(decode(format, encode(format, kIeee, std::bit_cast<std::uint32_t>(wide))));
    }
    return numbers;
  }
  const std::vector<std::uint32_t> source(codes.begin(), codes.end());
  for (const std::uint32_t code :
       by_op(*backend_, Dequantize{}, on_one_rank(type_of(elements), source), inverse, type))
    numbers.push_back(number_of(type, code));
  return numbers;
}

}  // namespace shardcheck
