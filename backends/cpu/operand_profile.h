// Which arithmetic a weight gradient follows: that of the machine's tensor cores, unless they have none for
// its operands.
#pragma once

#include "core/numerics/profile.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// No tensor core multiplies fp32, and what cuBLASLt does instead was not measured (tensor-core 2): every
/// backend sums fp32 products exactly and rounds once, whatever the profile of its chip. The same holds of
/// bf16 on a chip that has no tensor cores for it.
inline const ArithmeticProfile& profile_for(DType operand, const ArithmeticProfile& chip) {
  const bool lacks_bf16 = operand == DType::bf16 && chip.operands == SixteenBitOperands::f16;
  return operand == DType::f32 || lacks_bf16 ? kIdeal : chip;
}

}  // namespace shardcheck
