// mfsdp-v2-flat (shard-layouts 2.6): Megatron-FSDP v2, placement Flat, later RowAtomic. Gaps are filled as in
// v1, but C is the lcm over all rows and every fragment starts at a multiple of its own row, so no row is
// ever cut (L7). With `block_rows` = b it is mfsdp-v2-block-atomic: see mfsdp_v2_block_atomic.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct MfsdpV2Options {
  std::int32_t world = 1;       ///< W; O * I for HFSDP
  std::int64_t block_rows = 1;  ///< b: rows that stay together
};

/// One buffer with Cut::equal for each (unit, dtype, requires_grad). Throws Rejected (zero_dim_tensor,
/// zero_row_size, dim0_not_multiple_of_block), or Error when a size does not fit 64 bits.
Layout mfsdp_v2_flat(std::span<const Parameter> parameters, const MfsdpV2Options& options);

/// True when the self-check of the original raises on this buffer: it takes an empty tensor that starts where
/// a non-empty one with a smaller id starts for an overlap (B17). The layout itself is right.
bool upstream_sees_false_overlap(const Buffer& buffer);

/// One mesh axis seen from a rank.
struct MeshAxis {
  std::int32_t size = 1;
  std::int32_t coordinate = 0;
  bool flat = false;  ///< sharded along this axis, not replicated
};

/// The range of a buffer of `size` elements that a rank holds; `axes` outermost first. Sharded axes must be a
/// suffix.
Range mesh_range(std::int64_t size, std::span<const MeshAxis> axes);

}  // namespace shardcheck::layout
