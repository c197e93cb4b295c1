// Model parallelism before data parallelism: what tensor parallelism leaves of every tensor and expert
// parallelism of the list, so that a shard layout gets the parameters of one model-parallel rank
// (shard-layouts 1). Fused tensors are cut component by component, which keeps these sizes. Next:
// named_models.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// The dimension that tensor parallelism cuts a tensor of that name along: 0 for column-parallel layers and
/// vocabularies, 1 for row-parallel ones, none for what every rank holds whole (norms, routers).
std::optional<std::int32_t> tensor_parallel_dimension(std::string_view name);

/// The number of the expert that a tensor's name places it in, or none (experts of one layer may be one
/// grouped tensor).
std::optional<std::int64_t> expert_in(std::string_view name);

struct ModelParallel {
  std::int32_t tensor = 1;           ///< ranks that cut every tensor
  std::int32_t expert = 1;           ///< ranks that share the experts of a layer out
  std::int32_t expert_position = 0;  ///< whose experts are kept
};

/// The parameters of one model-parallel rank. Throws Error(bad_input) that names the tensor when an extent or
/// the number of experts does not divide.
std::vector<Parameter> local_model(std::span<const Parameter> parameters, const ModelParallel& parallel);

}  // namespace shardcheck::layout
