// What an element that an op on blocks wrote was computed from: elements of its operands, found by the recipe
// that the op names. Next: excerpts.cpp, which reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/op.h"

namespace shardcheck::shadowing {

/// Elements first, first + stride, ... of an operand, `count` of them.
struct Origin {
  std::string name;
  int operand;
  std::int64_t first, count = 1, stride = 1;
};

/// Element `element` of operand `operand`, which the op wrote.
struct BlockElement {
  int operand;
  std::int64_t element;
};

/// `numel` is that of the piece, operand 0.
std::vector<Origin> origins_of(const TakeAmax& take, BlockElement written, std::int64_t numel);
/// Padding has no origin; neither has any place of a plane beyond it.
std::vector<Origin> origins_of(const ScaleFromAmax& scale, BlockElement written);
std::vector<Origin> origins_of(const QuantizeBlocks& quantize, BlockElement written);
std::vector<Origin> origins_of(const DequantizeBlocks& dequantize, BlockElement written);
std::vector<Origin> origins_of(const QuantizeMatrix& quantize, BlockElement written);
std::vector<Origin> origins_of(const DeriveColumnCopy& derive, BlockElement written);

}  // namespace shardcheck::shadowing
