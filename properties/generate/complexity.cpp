#include "properties/generate/complexity.h"

#include <algorithm>
#include <numeric>

namespace shardcheck {
namespace {

std::int64_t protocol_rank(WriteMode mode) {
  return mode == WriteMode::r5 ? 0 : 1 + static_cast<std::int64_t>(mode);
}

/// How much of an FP8 life there is: each part that a shrink takes away counts.
std::int64_t fp8_rank(const std::optional<Fp8Training>& fp8) {
  if (!fp8) return 0;
  const Fp8Training plain;
  const std::int64_t events = 8 * std::ssize(fp8->evaluations) + 8 * std::ssize(fp8->skipped_steps) +
                              (fp8->reload_after >= 0 ? 8 + fp8->reload_after : 0);
  const std::int64_t parts = (fp8->recompute != plain.recompute) + (fp8->transposes != plain.transposes) +
                             (fp8->masters != plain.masters);
  const std::int64_t history = fp8->recipe == "te-delayed" ? fp8->history : 0;
  return 1 + 2048 * (events + parts) + history + (fp8->recipe != "te-current-pow2");
}

/// How much happens besides steps and microbatches.
std::int64_t loop_rank(const Scenario& s) {
  std::int64_t aborts = 0, thaws = 0;
  for (const Abort& abort : s.loop.aborts) aborts += 128 + abort.microbatch + abort.after_uses;
  for (const ScenarioParameter& p : s.parameters) thaws += p.thaws_at > 0 ? 64 + p.thaws_at : 0;
  const auto units = static_cast<std::int64_t>(s.loop.recompute.units.size());
  return 4096 * aborts + 64 * (thaws + 64 * std::ssize(s.loop.resumes)) +
         (s.loop.recompute.all ? 1
          : units > 0          ? 1 + units
                               : 0);
}

std::int64_t count_if_true(const auto& list, auto condition) {
  return static_cast<std::int64_t>(std::ranges::count_if(list, condition));
}

}  // namespace

std::string generic_name(std::size_t parameter) {
  return "w" + std::to_string(parameter);
}

Complexity complexity_of(const Scenario& s) {
  std::int64_t elements = 0, sides = 0, names = 0, units = 0, tokens = 0;
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const ScenarioParameter& p = s.parameters[i];
    elements += p.numel();
    for (const std::int64_t side : p.shape) sides += std::max<std::int64_t>(side - 1, 0);
    names += p.name != generic_name(i);
    units += p.unit;
  }
  for (const TokenCount& count : s.token_counts) tokens += count.tokens;
  const auto& parameters = s.parameters;
  return {s.steps,
          s.microbatches,
          s.ranks,
          s.tensor,
          s.stages,
          std::ssize(s.parameters),
          std::ssize(s.uses),
          std::ssize(s.silent),
          std::ssize(s.token_counts),
          s.tokens,
          tokens,
          fp8_rank(s.fp8),
          loop_rank(s),
          protocol_rank(s.write_mode),
          static_cast<std::int64_t>(s.first_microbatch),
          static_cast<std::int64_t>(s.execution),
          static_cast<std::int64_t>(s.strategy),
          s.bucket_size,
          s.overlap,
          s.slots != 2,
          !s.zeroing,
          s.staging,
          s.expert_parallel,
          s.gtp,
          s.outer,
          static_cast<std::int64_t>(s.outer_mode),
          s.sync == Sync::last,
          s.outer_sync == Sync::every,
          static_cast<std::int64_t>(s.reshard),
          s.offload,
          static_cast<std::int64_t>(s.loss),
          static_cast<std::int64_t>(s.scaling),
          s.main_grad != DType::f32,
          s.comm != DType::f32,
          s.clip,
          s.data != DataMode::provenance,
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.numel() == 0; }),
          elements,
          sides,
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.shape.size() == 1; }),
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.expert; }),
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.sequence_parallel; }),
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.tied_to >= 0; }),
          std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                          [](std::int64_t sum, const ScenarioParameter& p) { return sum + p.stage; }),
          count_if_true(parameters, [](const ScenarioParameter& p) { return !p.trainable; }),
          count_if_true(parameters, [](const ScenarioParameter& p) { return p.dtype != DType::bf16; }),
          units + count_if_true(s.uses, [](const ScenarioUse& u) { return u.unit != -1; }),
          count_if_true(s.uses, [](const ScenarioUse& u) { return u.producer != Producer::fused; }),
          count_if_true(s.uses, [](const ScenarioUse& u) { return u.grouped; }),
          std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                          [](std::int64_t sum, const ScenarioParameter& p) { return sum + p.groups; }),
          names + (s.seed != 1) + !s.name.empty()};
}

}  // namespace shardcheck
