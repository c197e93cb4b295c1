// A planned model: one training step of a known model under a named strategy at any world size, from one
// representative rank a role. Every rank of a mesh has its place in each group that shards; the first, the
// middle and the last are planned, and those with equal figures are one role. Next: model_plan_text.cpp and
// model_plan_json.cpp say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/closed_form.h"
#include "tools/shardcheck/layout/question.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck {

/// What the flags say.
struct ModelPlanFlags {
  std::string model, strategy, mesh, bucket_size;
  std::string storage = "bf16";     ///< a name of cost::storages()
  std::string dtype_wire = "bf16";  ///< of reductions: bf16, f16 or f32
  std::string main_grad = "f32";    ///< of accumulated gradients
  std::int64_t world = 0;           ///< ranks, or 0
  std::int64_t microbatches = 1;
  std::int64_t tokens = 4096;  ///< of a rank and microbatch
  std::int64_t routed = 0;     ///< experts that a token goes to; 0: as the model has it
  std::int64_t slots = 2;
  bool keeps_gathered = false;  ///< sharded weights stay whole between forward and backward
  cost::Network network;
  cost::Gpu gpu;
};

/// Ops of one kind on pieces that are alike.
struct PlanRow {
  cost::Work work{};
  cost::Lane lane{};
  std::string what;           ///< "layers 0-125"
  std::int64_t times = 0;     ///< a step
  std::int64_t elements = 0;  ///< of all of them
  double ranks = 1;           ///< of a collective's group
  double sent = 0;            ///< bytes, all of them
  double touched = 0;         ///< bytes, all of them
  double seconds = 0;         ///< all of them
  std::string reads, writes;  ///< storage
};

/// Ranks whose figures are equal.
struct PlanRole {
  std::vector<std::int32_t> ranks;  ///< of the mesh
  std::int64_t dense = 0;           ///< elements of tensors that the rank owns
  std::int64_t experts = 0;         ///< the same, of experts that expert parallelism shared out
  std::int64_t padding = 0;         ///< elements that it owns and no tensor has
  cost::StepFigures figures;
};

struct ModelPlan {
  Question question;
  const cost::System* system = nullptr;
  cost::OuterAxis outer = cost::OuterAxis::none;
  std::int64_t routed = 0;      ///< experts a token; 0 without experts
  std::vector<PlanRole> roles;  ///< at least one; rows are those of the first
  std::vector<PlanRow> rows;    ///< in the order of issue
  cost::ClosedForm closed;
  std::int64_t ops = 0;  ///< of the rank, in the step
};

/// Seconds of all collectives of the step, one after another.
double seconds_in_collectives(const ModelPlan& plan);

/// Throws Error(bad_input).
ModelPlan plan_model(const ModelPlanFlags& flags);

std::string model_plan_text(const ModelPlan& plan, const ModelPlanFlags& flags, const Terminal& terminal);
std::string model_plan_json(const ModelPlan& plan, const ModelPlanFlags& flags);

/// Every strategy with what it costs, or with why it cannot be planned on this mesh.
struct Compared {
  const cost::System* system = nullptr;
  std::optional<ModelPlan> plan;
  std::string refusal;
};
std::vector<Compared> compare_strategies(ModelPlanFlags flags);
std::string comparison_text(const std::vector<Compared>& compared, const ModelPlanFlags& flags,
                            const Terminal& terminal);
std::string comparison_json(const std::vector<Compared>& compared, const ModelPlanFlags& flags);

}  // namespace shardcheck
