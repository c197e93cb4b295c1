// zero12-flat (shard-layouts 2.12): DeepSpeed ZeRO-1/2. One flat buffer an optimizer param group, no
// alignment between tensors, rounded up to 2 * W elements, cut anywhere. Several trailing ranks may hold only
// padding (B1).
#pragma once

#include <cstdint>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// In which order the tensors of a group are flattened.
enum class ZeroOrder : std::uint8_t {
  given,
  round_robin,  ///< indices 0, W, 2W, ..., 1, W + 1, ...
};

struct Zero12Options {
  std::int32_t world = 1;
  ZeroOrder order = ZeroOrder::given;
};

/// One buffer with Cut::equal for each group with trainable parameters; `total` is T. Throws Error when a
/// size does not fit 64 bits.
Layout zero12_flat(std::span<const Parameter> parameters, const Zero12Options& options);

}  // namespace shardcheck::layout
