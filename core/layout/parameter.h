// Parameter: everything a shard layout may know of a parameter, and nothing else, so that every layout is a
// pure function of (ordered parameters, flags, world, configuration) (L11). Next: layout.h, what a layout
// returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/sizes.h"
#include "core/tensor/dtype.h"
#include "core/types.h"

namespace shardcheck::layout {

/// How the compute copy of a parameter is stored.
enum class Quantized : std::uint8_t { none, fp8, nvfp4 };

/// One parameter of the TP-local model. Its ParamId is its position in registration order.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major extents, all at least 0; empty for a scalar
  DType dtype = DType::bf16;        ///< type of the unquantised parameter
  bool requires_grad = true;
  bool expert = false;            ///< reduced over the expert data-parallel group, not over the dense group
  bool shared_embedding = false;  ///< shared between pipeline stages, so it gets a bucket of its own
  bool layerwise = false;         ///< updated by the layerwise (matrix) optimizer, shard-layouts 2.4
  Quantized quantized = Quantized::none;
  std::optional<std::int32_t> unit;  ///< FSDP unit, or none for parameters that belong to the root
  std::optional<ParamId> tied_to;    ///< the earlier parameter whose storage this name reaches (L21)
  std::int32_t shard_dim = 0;        ///< dimension that FSDP2 cuts, shard-layouts 2.10
  std::int32_t group = 0;            ///< optimizer param group, shard-layouts 2.12 and 2.13
  std::int64_t block_rows = 1;       ///< rows of an atomic block, planner R1 of shard-layouts 2.14
  std::int64_t remat_factor = 1;     ///< scales dim 0 in the layerwise cost, shard-layouts 2.4

  /// Product of the extents (1 for a scalar). Throws Error when it does not fit 64 bits.
  std::int64_t numel() const { return product_from(0); }

  /// Elements of a row, which is a slice along dim 0 (1 for a scalar and for one dimension).
  std::int64_t row() const { return product_from(1); }

  /// Product of the extents of the dimensions `first`, first + 1, ...
  std::int64_t product_from(std::size_t first) const {
    std::int64_t product = 1;
    for (std::size_t d = first; d < shape.size(); ++d) product = multiply_sizes(product, shape[d]);
    return product;
  }

  bool operator==(const Parameter&) const = default;
};

}  // namespace shardcheck::layout
