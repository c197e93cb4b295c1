// Ops on blocks of elements that share a scale (fp8 3): amaxes, scales, codes, both copies of a matrix,
// delayed scaling. By core/recipe, which is the readable reference; a fast machine is compared with it bit
// for bit.
#pragma once

#include "backends/cpu/casts.h"
#include "core/plan/op.h"

namespace shardcheck::cpu {

/// Codes and the plane of their scales.
struct CopyRanges {
  Range codes, scales;
};

/// Amaxes (fp32) in, factors (fp32) and stored scales out.
struct ScaleRanges {
  Range amaxes, factors, stored;
};

struct DelayedRanges {
  Range amax, history, scale_and_inverse;
};

/// destination := the larger of itself and of the magnitudes of source, block by block.
void take_amax(const TakeAmax& take, const SourceTo& ranges);
void scale_from_amax(const ScaleFromAmax& scale, const ScaleRanges& ranges);
/// `ranges.scale` has the factor of every block.
void quantize_blocks(const QuantizeBlocks& quantize, const ScaledRanges& ranges);
/// `ranges.scale` is the stored plane.
void dequantize_blocks(const DequantizeBlocks& dequantize, const ScaledRanges& ranges);
/// A copy without elements is not made.
void quantize_matrix(const QuantizeMatrix& quantize, const Range& source, const CopyRanges& row,
                     const CopyRanges& column);
void derive_column_copy(const DeriveColumnCopy& derive, const CopyRanges& row, const CopyRanges& column);
void close_delayed_step(const CloseDelayedStep& close, const DelayedRanges& ranges);

}  // namespace shardcheck::cpu
