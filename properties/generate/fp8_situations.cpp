#include "properties/generate/fp8_situations.h"

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

/// The weights have blocks of that shape.
bool has_block(const Scenario& s, recipe::BlockShape block) {
  return s.fp8 && recipe::find_recipe(s.fp8->recipe)->block == block;
}

}  // namespace

std::vector<Situation> fp8_situations() {
  using enum Focus;
  using S = const Scenario&;
  using G = const Geometry&;
  return {
      {"FP8 by tensor", [](S s, G) { return has_block(s, {}); }, {fp8}},
      {"FP8 by delayed scaling",
       [](S s, G) { return s.fp8 && s.fp8->recipe == "te-delayed" && s.steps > s.fp8->history; },
       {fp8}},
      {"FP8 by 128x128 blocks",
       [](S s, G) {
         return has_block(s, {128, 128});
       },
       {fp8}},
      {"MXFP8",
       [](S s, G) {
         return has_block(s, {32, 1});
       },
       {fp8}},
      {"FP8 weights whole on every rank",
       [](S s, G) { return s.fp8 && !shards_gradient(s.strategy); },
       {fp8}},
      {"FP8 weights gathered after the step",
       [](S s, G) {
         return s.fp8 && s.ranks > 1 && shards_gradient(s.strategy) &&
                s.strategy != Strategy::fsdp_optim_grads_params && s.strategy != Strategy::fsdp2;
       },
       {fp8}},
      {"FP8 weights gathered when needed",
       [](S s, G) { return s.fp8 && s.ranks > 1 && s.strategy == Strategy::fsdp_optim_grads_params; },
       {fp8}},
      {"FP8 weights gathered row by row, for every pass",
       [](S s, G) { return has_reshard(s) && s.ranks > 1 && s.reshard == Reshard::after_forward; },
       {fp8}},
      {"FP8 weights whole from a forward to its backward",
       [](S s, G) { return s.ranks > 1 && s.reshard == Reshard::after_backward; },
       {fp8}},
      {"FP8 weights whole over the microbatches of a step",
       [](S s, G) { return s.ranks > 1 && s.microbatches > 1 && s.reshard == Reshard::after_step; },
       {fp8}},
      {"masters from codes", [](S s, G) { return s.fp8 && s.fp8->masters == Masters::from_bytes; }, {fp8}},
      {"transposes kept", [](S s, G) { return s.fp8 && s.fp8->transposes == Transposes::keep; }, {fp8}},
      {"recomputed forward", [](S s, G) { return s.fp8 && s.fp8->recompute; }, {fp8}},
      {"skipped step", [](S s, G) { return s.fp8 && !s.fp8->skipped_steps.empty(); }, {fp8}},
      {"evaluation", [](S s, G) { return s.fp8 && !s.fp8->evaluations.empty(); }, {fp8}},
      {"reload before another step",
       [](S s, G) { return s.fp8 && s.fp8->reload_after >= 0 && s.fp8->reload_after + 1 < s.steps; },
       {fp8}},
  };
}

}  // namespace shardcheck
