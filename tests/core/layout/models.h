// Models that the tests of the uniform entry walk all layouts with: each shows one awkward thing, and every
// layout that does not reject it must place it.
#pragma once

#include <string_view>
#include <vector>

#include "core/layout/registry.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {

/// One question to the uniform entry.
struct Asked {
  std::vector<Parameter> parameters;
  Mesh mesh;
  Configuration configuration;
};

/// Uneven rows, a short tensor, a zero-row tensor, two units, a frozen, a tied and an expert parameter.
inline std::vector<Parameter> awkward_model() {
  std::vector<Parameter> parameters = of_shapes({{5, 4}, {3, 6}, {7}, {0, 2}, {2, 3}, {1}, {5, 4}, {6, 2}});
  parameters[4].unit = 0;
  parameters[5].requires_grad = false;
  parameters[5].unit = 0;
  parameters[6].tied_to = ParamId{0};
  parameters[7].expert = true;
  parameters[1].layerwise = true;
  return parameters;
}

/// Matrices of whole blocks, which block-atomic accepts at 2 rows a block.
inline std::vector<Parameter> even_model() {
  return of_shapes({{8, 4}, {4, 6}, {12, 2}, {2, 5}});
}

/// The models at several worlds, with two-axis meshes where a layout takes them.
inline std::vector<Asked> questions(const NamedLayout& layout) {
  std::vector<Asked> asked;
  for (const std::int32_t world : {1, 2, 3, 7, 16}) {
    Configuration configuration{.bucket_size = 20, .block_rows = 2, .sub_group_size = 5};
    configuration.expert_world = (world + 1) / 2;
    asked.push_back({awkward_model(), mesh_of(world), configuration});
    asked.push_back({even_model(), mesh_of(world), configuration});
  }
  if (layout.name == "dtensor-nd") {
    using enum Placement::Kind;
    const Mesh two{{{"dp", 2, AxisUse::shard}, {"tp", 3, AxisUse::tensor}}};
    const Mesh three{{{"r", 2, AxisUse::replicate}, {"dp", 3, AxisUse::shard}, {"tp", 2, AxisUse::tensor}}};
    asked.push_back({awkward_model(), two, {}});
    asked.push_back({even_model(), two, {.placements = {{shard, 0}, {shard, 1}}, .order = {1, 0}}});
    asked.push_back(
        {even_model(), two, {.placements = {{strided_shard, 0, 3}, {shard, 0}}, .order = {0, 1}}});
    asked.push_back({awkward_model(), three, {}});
    asked.push_back({even_model(),
                     three,
                     {.placements = {{replicate}, {strided_shard, 0, 2}, {shard, 1}}, .order = {0, 1, 2}}});
  }
  if (layout.name == "vescale-ragged") {
    asked.push_back({of_shapes({{8, 3}, {4}, {12, 1}}), mesh_of(3), {.units = {1, 0, 3}}});
  }
  if (layout.name == "megatron-fsdp-v1") {
    asked.push_back({awkward_model(), mesh_of(2), {.strategy = FsdpStrategy::no_shard}});
  }
  return asked;
}

}  // namespace shardcheck::layout
