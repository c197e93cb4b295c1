// mfsdp-v2-block-atomic (shard-layouts 2.7): as mfsdp-v2-flat, and no group of b consecutive rows is cut, so
// a block scale has one owner (L8). Holds also the planes of an MXFP8 tensor, which are derived from the data
// plane and never planned on their own (L14, B38).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/mfsdp_v2_flat.h"

namespace shardcheck::layout {

/// Rows and columns of an MXFP8 block.
inline constexpr std::int64_t kMxfp8Block = 32;

/// One buffer with Cut::equal for each (unit, dtype, requires_grad); the errors of mfsdp_v2_flat.
inline Layout mfsdp_v2_block_atomic(std::span<const Parameter> parameters, const MfsdpV2Options& options) {
  return mfsdp_v2_flat(parameters, options);
}

/// Scale planes of an MXFP8 tensor, compact: what a GEMM pads is added after gathering.
struct Mxfp8Scales {
  ParamId param;
  std::int64_t lo = 0, hi = 0;               ///< range in either scale buffer: the data range / 32
  std::array<std::int64_t, 2> rowwise{};     ///< (R, K / 32)
  std::array<std::int64_t, 2> columnwise{};  ///< (R / 32, K)
};

/// The scale planes of a buffer whose size is a multiple of 32 (the scale buffers hold size / 32 elements),
/// in the order of the original's list; nothing unless every tensor is 2-D with both dimensions multiples
/// of 32.
std::vector<Mxfp8Scales> mxfp8_scales(const Buffer& buffer, std::span<const Parameter> parameters);

}  // namespace shardcheck::layout
