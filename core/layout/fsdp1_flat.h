// fsdp1-flat (shard-layouts 2.9): PyTorch FSDP1. One flat parameter a unit, cut by ceil-chunk over W ranks;
// with original parameters in use, every parameter starts at a multiple of 16 bytes of the compute dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Whether original parameters stay visible, which asks for aligned starts and allows mixed requires_grad.
enum class Fsdp1Mode : std::uint8_t { aligned, plain };

struct Fsdp1Options {
  std::int32_t world = 1;
  Fsdp1Mode mode = Fsdp1Mode::aligned;
  std::optional<DType> compute_dtype;  ///< decides the alignment; none = the parameters' dtype
};

/// One buffer with Cut::equal a unit; `total` is T, and `size` is W * S with the rank-tail padding. Throws
/// Rejected (mixed_dtype, mixed_requires_grad, empty_flat_parameter), or Error when a size does not fit 64
/// bits.
Layout fsdp1_flat(std::span<const Parameter> parameters, const Fsdp1Options& options);

}  // namespace shardcheck::layout
