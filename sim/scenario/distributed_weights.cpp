#include "sim/scenario/distributed_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

void judge_axis(const Scenario& s, const std::string& where) {
  const auto fail = [&](const std::string& sentence) { throw bad_input(where + ": mesh.gtp", sentence); };
  if (s.gtp < limits::kRanks.low || s.gtp > limits::kRanks.high)
    fail(fmt::format("{} is out of range; give {} to {}", s.gtp, limits::kRanks.low, limits::kRanks.high));
  if (s.ranks % s.gtp != 0) fail(fmt::format("{} ranks are not divisible by gtp {}", s.ranks, s.gtp));
  if (s.gtp == 1 && !has_distributed(s)) return;
  if (s.expert_parallel > 1)
    fail(
        fmt::format("a mesh with expert_parallel {} has no ranks that share distributed weights; use 1, and "
                    "no producer \"distributed\"",
                    s.expert_parallel));
  const auto expert = std::ranges::find(s.parameters, true, &ScenarioParameter::expert);
  if (expert != s.parameters.end())
    fail(
        fmt::format("\"{}\" is an expert's; distributed weights beside experts are not modelled; leave out "
                    "expert, or mesh.gtp and the producer \"distributed\"",
                    expert->name));
  if (s.outer > 1)
    fail(
        fmt::format("ranks that share distributed weights in {} outer groups are not modelled; use 1, and no "
                    "producer \"distributed\"",
                    s.outer));
}

/// Why the weight cannot be distributed, or nothing.
std::string refusal(const Scenario& s, std::int32_t p) {
  const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
  const auto is_other = [&](const ScenarioUse& use) {
    return use.parameter == p && use.producer != Producer::distributed;
  };
  if (!is_megatron_ddp(s.strategy))
    return fmt::format("under {}; distributed weights are of megatron-ddp and megatron-ddp-zero1",
                       name_of(s.strategy));
  if (s.fp8) return "with FP8 weights is not modelled; use \"fused\"";
  if (parameter.shape.size() != 2) return "with a 1-D parameter; a distributed weight is a matrix";
  if (parameter.rows() % s.gtp != 0)
    return fmt::format("with {} rows, which {} ranks cannot share; use a multiple of mesh.gtp",
                       parameter.rows(), s.gtp);
  if (std::ranges::any_of(s.uses, is_other))
    return fmt::format("and another producer for \"{}\"; a distributed weight has this one alone",
                       parameter.name);
  if (parameter.groups > 1) return "with the weight of several experts; give a parameter each";
  if (parameter.sequence_parallel || tied_copy(s, p) >= 0)
    return fmt::format("with \"{}\", which has copies on other ranks; a distributed weight has none",
                       parameter.name);
  if (s.staging) return "with owner.staging; weights are staged where none is distributed";
  return {};
}

}  // namespace

void validate_distributed(const Scenario& s, const std::string& where) {
  judge_axis(s, where);
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (s.uses[u].producer != Producer::distributed) continue;
    if (const std::string sentence = refusal(s, s.uses[u].parameter); !sentence.empty())
      throw bad_input(fmt::format("{}: uses[{}].producer", where, u), "\"distributed\" " + sentence);
  }
}

}  // namespace shardcheck
