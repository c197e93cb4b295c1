// Recipes on a backend: amaxes, scales, copies and numbers by the ops of blocks (core/plan/op.h), one op a
// plan, so that a law of recipes asks a machine the same that it asks core/recipe. Next: laws.h,
// scale_law/scale_machine.h.
#pragma once

#include <span>
#include <vector>

#include "core/backend.h"
#include "core/recipe/quantize.h"

namespace shardcheck {

/// Whether ops of blocks can say the recipe: one of the catalogue itself, with codes of 8 bits, one level of
/// scales, and a scale of its own amax.
bool has_block_ops(const recipe::Recipe& recipe, FormatId elements);

/// All of recipes that has_block_ops. Where another process holds the rank, the result is that of
/// core/recipe.
class BlockMachine {
 public:
  explicit BlockMachine(Backend& backend) : backend_(backend) {}

  /// One TakeAmax, into the blocks of rows. A piece of nothing is no op.
  void take_amaxes(const recipe::Recipe& recipe, const recipe::Blocks& blocks, const recipe::Piece& piece,
                   std::span<float> amaxes) const;
  /// One ScaleFromAmax, each amax on a rank of its own. For elements of the forward format.
  recipe::Scales scales(const recipe::Recipe& recipe, std::span<const float> amaxes) const;
  /// One QuantizeMatrix.
  recipe::QuantizedCopy quantized(const recipe::Recipe& recipe, const recipe::Wanted& wanted,
                                  const recipe::Matrix& matrix) const;
  /// One DequantizeBlocks to fp32.
  std::vector<float> dequantized(const recipe::Recipe& recipe, const recipe::QuantizedCopy& copy) const;

 private:
  Backend& backend_;
};

}  // namespace shardcheck
