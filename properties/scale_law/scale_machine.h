// The machine that a law of scales is asked of: what takes amaxes, makes scales, quantises, stores and
// swizzles. On a backend these are ops: Quantize and Dequantize for one scale, ops of blocks for the recipes
// that they have (recipe_law/block_machine.h). The rest is core/recipe: recipes of two levels or with a given
// scale, changed recipes, planes and swizzles. A fault of the zoo takes the place of all of it. Read next:
// scale_laws.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/recipe/quantize.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// Everything about scales; a fault is one of them changed.
struct ScaleRules {
  void (*take_amaxes)(const recipe::Blocks& blocks, recipe::AmaxNan nan, const recipe::Piece& piece,
                      std::span<float> amaxes);
  recipe::Scales (*scales)(const recipe::Recipe& recipe, FormatId elements,
                           const recipe::ScaleInputs& inputs);
  recipe::ScalePlane (*plane)(FormatId format, const recipe::ScaleStorage& storage,
                              const recipe::ScaleGrid& grid);
  std::vector<std::byte> (*swizzled)(const recipe::ScalePlane& plane, recipe::Direction direction);
  recipe::QuantizedCopy (*quantized)(const recipe::Recipe& recipe, const recipe::Wanted& wanted,
                                     const recipe::Matrix& matrix);
  std::vector<float> (*dequantized)(const recipe::Recipe& recipe, const recipe::QuantizedCopy& copy);
  /// encode(RN(number * scale)), saturating.
  std::uint8_t (*narrowed)(FormatId elements, float number, float scale);
  /// RN(decode(code) * inverse).
  float (*widened)(FormatId elements, std::uint8_t code, float inverse);
};

/// Ours.
const ScaleRules& scale_rules();

class ScaleMachine {
 public:
  explicit ScaleMachine(Backend& backend) : backend_(&backend), rules_(scale_rules()) {}
  explicit ScaleMachine(const ScaleRules& rules) : backend_(nullptr), rules_(rules) {}

  /// What no op does: planes, swizzles.
  const ScaleRules& rules() const { return rules_; }

  void take_amaxes(const recipe::Recipe& recipe, const recipe::Blocks& blocks, recipe::AmaxNan nan,
                   const recipe::Piece& piece, std::span<float> amaxes) const;
  recipe::Scales scales(const recipe::Recipe& recipe, FormatId elements,
                        const recipe::ScaleInputs& inputs) const;
  recipe::QuantizedCopy quantized(const recipe::Recipe& recipe, const recipe::Wanted& wanted,
                                  const recipe::Matrix& matrix) const;
  std::vector<float> dequantized(const recipe::Recipe& recipe, const recipe::QuantizedCopy& copy) const;
  /// One op; nothing where another process holds the rank.
  std::vector<std::uint8_t> narrowed(FormatId elements, std::span<const float> numbers, float scale) const;
  /// The same, as fp32 numbers of `type`, which is f32 or bf16.
  std::vector<float> widened(FormatId elements, DType type, std::span<const std::uint8_t> codes,
                             float inverse) const;

 private:
  Backend* backend_;
  const ScaleRules& rules_;
};

}  // namespace shardcheck
