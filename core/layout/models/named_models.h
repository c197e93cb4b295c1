// Named models (shard-layouts 7): the parameters of well-known models, with the names and shapes of their
// public configurations. One FSDP unit a transformer layer; embedding, last norm and head belong to the root.
// Next: model_parallel.h, what tensor and expert parallelism leave of one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct NamedModel {
  std::string_view name;         ///< "llama3-8b"
  std::string_view description;  ///< one sentence
  std::vector<Parameter> (*make)();
  std::int32_t routed = 0;  ///< experts of a layer that a token goes to
};

/// All of them, in the order of the specification.
std::span<const NamedModel> named_models();

/// Null when there is none of that name.
const NamedModel* find_model(std::string_view name);

/// The layer that a tensor's name places it in ("model.layers.7.mlp.up_proj.weight", "h.7.ln_1.weight"), or
/// none: what makes an FSDP unit of files whose modules are not known.
std::optional<std::int32_t> layer_in(std::string_view name);

/// True for tables whose rows are looked up and never multiplied.
bool is_lookup(const Parameter& parameter);

/// True for matrices that FP8 recipes quantise: two dimensions or more, and neither embedding, head nor
/// router.
bool is_usually_quantised(const Parameter& parameter);

}  // namespace shardcheck::layout
