// What faults of FP8 weights look for in a plan, and what they need of a scenario.
#pragma once

#include <algorithm>
#include <optional>

#include "core/assert.h"
#include "core/integers.h"
#include "core/recipe/catalogue.h"
#include "sim/faults/edit.h"
#include "sim/faults/prepare.h"

namespace shardcheck::weight_ops {

/// True for an action of that kind on the first parameter.
template <class Kind>
bool is_of_first(const Op& op) {
  return std::holds_alternative<Kind>(op.action) && op.why.parameter.value == 0;
}
/// A part of the requantisation that follows an optimizer step.
template <class Kind>
bool requantises_first(const Op& op) {
  return is_of_first<Kind>(op) && op.why.purpose == Purpose::weights;
}
inline bool is_gather(const PlanEdit& edit, const Op& op) {
  const auto* communicate = std::get_if<Communicate>(&op.action);
  return communicate != nullptr && communicate->collective == Collective::all_gather &&
         edit.role(op, 0) == BufferRole::codes;
}
inline bool is_maximum(const PlanEdit& edit, const Op& op) {
  const auto* communicate = std::get_if<Communicate>(&op.action);
  return communicate != nullptr && communicate->reduction == Reduction::maximum &&
         edit.role(op, 0) == BufferRole::amaxes;
}
/// The first parameter's weight: both copies, and how it is quantised at its creation.
struct FirstWeight {
  WeightCopy row, column;
  BlockCopy of;
};
/// Nothing where the first parameter has no FP8 weight.
inline std::optional<FirstWeight> first_weight(const Plan& plan) {
  FirstWeight first;
  bool exists = false;
  for (const WeightCopy& copy : plan.weight_copies) {
    if (copy.parameter.value != 0) continue;
    (copy.direction == recipe::Direction::row ? first.row : first.column) = copy;
    exists = true;
  }
  for (const Op& op : plan.ops) {
    if (op.why.parameter.value != 0) continue;
    if (const auto* matrix = std::get_if<QuantizeMatrix>(&op.action)) first.of = matrix->of;
    if (const auto* blocks = std::get_if<QuantizeBlocks>(&op.action)) first.of = blocks->of;
    if (op.why.purpose == Purpose::setup && first.of.rows > 0) break;
  }
  return exists ? std::optional(first) : std::nullopt;
}

}  // namespace shardcheck::weight_ops

namespace shardcheck::prepare {

/// Matrices live in FP8 by this recipe; shapes become what it takes.
inline void fp8(Scenario& s, std::string_view recipe) {
  reference(s);
  fused(s);
  s.execution = Execution::eager;
  s.fp8 = Fp8Training{.recipe = std::string(recipe)};
  const recipe::Recipe* named = recipe::find_recipe(recipe);
  SC_ASSERT(named != nullptr, "a recipe that is not in the catalogue");
  for (ScenarioParameter& p : s.parameters) {
    if (!p.trainable || p.shape.size() != 2 || p.numel() == 0) continue;
    p.shape = {round_up(p.shape[0], named->multiples.rows), round_up(p.shape[1], named->multiples.columns)};
  }
  s.parameters.front().expert = false;
}
/// The same under an owner whose ranks hold pieces, with whole codes between steps.
inline void fp8_pieces(Scenario& s, std::string_view recipe) {
  two_ranks(s);
  fp8(s, recipe);
  s.strategy = s.slots % 2 ? Strategy::megatron_ddp_zero1 : Strategy::fsdp_optim;
  two_steps(s);
  repair(s);
}
/// The same where codes are gathered before every use.
inline void fp8_shards(Scenario& s, std::string_view recipe) {
  fp8_pieces(s, recipe);
  s.strategy = Strategy::fsdp_optim_grads_params;
}
/// The same under FSDP2, whose ranks hold rows.
inline void fp8_rows(Scenario& s, std::string_view recipe) {
  fp8_pieces(s, recipe);
  s.strategy = Strategy::fsdp2;
  for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  repair(s);
}
/// Two weights of equal size in one bucket on two ranks: each rank owns one of them.
inline void two_equal_weights(Scenario& s) {
  const ScenarioParameter first = s.parameters.front();
  s.parameters.assign(2, first);
  s.parameters[1].name = first.name == "w1" ? "w2" : "w1";
  s.uses = {{.parameter = 0}, {.parameter = 1}};
  s.silent.clear();
  s.ranks = 2;
  s.expert_parallel = 1;
  s.bucket_size = 0;
  repair(s);
}

}  // namespace shardcheck::prepare
