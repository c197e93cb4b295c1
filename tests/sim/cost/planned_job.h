// A planned job for tests of the cost room: a small model under a system on a mesh, seen from one rank.
#pragma once

#include <string>
#include <vector>

#include "core/layout/registry.h"
#include "sim/cost/step.h"

namespace shardcheck::cost {

/// Layers of a matrix, a vector and a matrix, between a table and a head of no unit.
inline std::vector<layout::Parameter> layers(std::int32_t count) {
  std::vector<layout::Parameter> parameters{{.name = "model.embed_tokens.weight", .shape = {96, 16}}};
  for (std::int32_t layer = 0; layer < count; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    parameters.push_back({.name = name + "q_proj.weight", .shape = {16, 16}, .unit = layer});
    parameters.push_back({.name = name + "norm.weight", .shape = {16}, .unit = layer});
    parameters.push_back({.name = name + "up_proj.weight", .shape = {40, 16}, .unit = layer});
  }
  parameters.push_back({.name = "lm_head.weight", .shape = {96, 16}});
  return parameters;
}

class PlannedJob {
 public:
  PlannedJob(std::string_view system, layout::Mesh mesh) : mesh_(std::move(mesh)), parameters_(layers(4)) {
    job_.system = find_system(system);
    job_.outer = outer_axis_of(*job_.system, mesh_);
    see_from(Rank{0});
    job_.dense = job_.expert = cost::groups_of(mesh_, {.outer = job_.outer});
    job_.tokens = 64;
  }

  void see_from(Rank rank) {
    layout::Configuration configuration{.bucket_size = 1500};
    configuration.strategy = static_cast<layout::FsdpStrategy>(job_.system->sharded);
    const auto layout = layout::layout_named(job_.system->layout, parameters_, mesh_, configuration);
    const Rank shard = layout::shard_of(mesh_, rank);
    pieces_ = pieces_of(layout, parameters_, std::vector<Rank>(layout.buffers.size(), shard),
                        {.sharded = job_.system->sharded, .grain = job_.system->grain, .run = 2000});
    job_.pieces = pieces_;
    job_.parameters = parameters_;
  }

  PlannedJob(const PlannedJob&) = delete;
  PlannedJob& operator=(const PlannedJob&) = delete;

  StepJob& job() { return job_; }
  const layout::Mesh& mesh() const { return mesh_; }

 private:
  layout::Mesh mesh_;
  std::vector<layout::Parameter> parameters_;
  std::vector<Piece> pieces_;
  StepJob job_;
};

}  // namespace shardcheck::cost
