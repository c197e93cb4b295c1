#include "sim/scenario/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/integers.h"
#include "sim/scenario/distributed_weights.h"
#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

using limits::Range;

/// Says where, and throws.
class Judge {
 public:
  explicit Judge(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(const std::string& path, const std::string& sentence) const {
    throw bad_input(where_ + ": " + path, sentence);
  }
  void in_range(const std::string& path, std::int64_t value, Range range) const {
    if (value < range.low || value > range.high)
      fail(path, fmt::format("{} is out of range; give {} to {}", value, range.low, range.high));
  }
  /// An index of the `count` things, or -1, which stands for all.
  void index_or_all(const std::string& path, std::int64_t value, std::int64_t count,
                    std::string_view things) const {
    if (value < -1 || value >= count)
      fail(path, fmt::format("{} is out of range; the scenario has the {} 0 to {}, and -1 stands for all",
                             value, things, count - 1));
  }
  void index(const std::string& path, std::int64_t value, std::int64_t count, std::string_view things) const {
    if (value < 0 || value >= count)
      fail(path,
           fmt::format("{} is out of range; the scenario has the {} 0 to {}", value, things, count - 1));
  }
  /// Names stand in sentences and in files, a line each.
  void label(const std::string& path, const std::string& text) const {
    if (std::ssize(text) > limits::kMaxNameBytes)
      fail(path,
           fmt::format("a name of {} bytes is too long; use at most {}", text.size(), limits::kMaxNameBytes));
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        fail(path, fmt::format("a name holds the control character 0x{:02x}; use printable text", int{c}));
    }
  }
  void gradient_type(const std::string& path, DType type) const {
    if (type != DType::f32 && type != DType::bf16 && type != DType::f16)
      fail(path, fmt::format("\"{}\" holds no gradient; known are f32, bf16, f16", name_of(type)));
  }

 private:
  const std::string& where_;
};

std::string path_of(std::string_view list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

void judge_mesh(const Scenario& s, const Judge& judge) {
  judge.in_range("mesh.ranks", s.ranks, limits::kRanks);
  judge.in_range("mesh.expert_parallel", s.expert_parallel, limits::kRanks);
  if (s.ranks % s.expert_parallel != 0)
    judge.fail("mesh",
               fmt::format("{} ranks are not divisible by expert_parallel {}", s.ranks, s.expert_parallel));
  judge.in_range("mesh.stages", s.stages, limits::kRanks);
  judge.in_range("mesh.tensor", s.tensor, limits::kRanks);
  if (world_size(s) > limits::kRanks.high)
    judge.fail("mesh.stages",
               fmt::format("{} stages of {} tensor-parallel ranks of {} ranks are more than {} "
                           "ranks; use fewer",
                           s.stages, s.tensor, s.ranks, limits::kRanks.high));
  if (s.stages > 1 && s.fp8)
    judge.fail("mesh.stages",
               fmt::format("{} pipeline stages with FP8 weights are not modelled; use 1 stage", s.stages));
  if (s.tensor > 1 && s.fp8)
    judge.fail("mesh.tensor",
               fmt::format("{} tensor-parallel ranks with FP8 weights are not modelled; use 1", s.tensor));
}

/// The outer groups of a hybrid mesh, and the switches that some owners have.
void judge_outer(const Scenario& s, const Judge& judge) {
  judge.in_range("mesh.outer", s.outer, limits::kRanks);
  if (s.ranks % (s.outer * s.expert_parallel) != 0)
    judge.fail("mesh.outer",
               fmt::format("{} ranks are not divisible by {} outer groups times expert_parallel {}", s.ranks,
                           s.outer, s.expert_parallel));
  if (s.outer > 1 && !allows_outer(s.strategy))
    judge.fail("mesh.outer",
               fmt::format("the strategy {} has no outer groups; use 1, or a strategy that has, as "
                           "megatron-fsdp-v1/optim_grads or fsdp2",
                           name_of(s.strategy)));
  const bool shards_again = has_leases(s.strategy) && s.strategy != Strategy::fsdp2;
  if (s.outer_mode == OuterMode::shard && (s.outer == 1 || !shards_again))
    judge.fail(
        "mesh.outer_mode",
        fmt::format("\"shard\" is of Megatron-FSDP with sharded gradients on several outer groups, and "
                    "this is {} on {}; use \"replicate\"",
                    name_of(s.strategy), s.outer));
  if (s.sync == Sync::last && s.strategy != Strategy::fsdp2)
    judge.fail("owner.sync",
               fmt::format("\"last\" is a switch of fsdp2, and the strategy is {}; use \"every\"",
                           name_of(s.strategy)));
  if (s.outer_sync == Sync::every && (s.strategy != Strategy::fsdp2 || s.outer == 1))
    judge.fail(
        "owner.outer_sync",
        fmt::format("\"every\" is a switch of fsdp2 on several outer groups, and this is {} on {}; use "
                    "\"last\"",
                    name_of(s.strategy), s.outer));
}

/// The stage of a parameter, and what it says of the copy on another one.
void judge_stage(const Scenario& s, std::size_t index, const std::string& path, const Judge& judge) {
  const ScenarioParameter& parameter = s.parameters[index];
  judge.index(path + ".stage", parameter.stage, s.stages, "stages");
  if (parameter.tied_to < 0) return;
  const std::string tied = path + ".tied_to";
  judge.index(tied, parameter.tied_to, static_cast<std::int64_t>(index), "earlier parameters");
  const ScenarioParameter& other = s.parameters[static_cast<std::size_t>(parameter.tied_to)];
  if (other.stage == parameter.stage)
    judge.fail(tied, fmt::format("\"{}\" is on stage {} too; two uses of one parameter tie it there",
                                 other.name, other.stage));
  if (other.shape != parameter.shape || other.dtype != parameter.dtype ||
      other.trainable != parameter.trainable || other.thaws_at != parameter.thaws_at ||
      other.groups != parameter.groups)
    judge.fail(tied,
               fmt::format("\"{}\" has another shape, dtype, trainable, thaws_at or groups; a copy has the "
                           "same",
                           other.name));
  if (other.expert || parameter.expert)
    judge.fail(tied, "an expert's weight has no copy on another stage; leave it out");
  const bool is_third =
      other.tied_to >= 0 ||
      std::count_if(s.parameters.begin(), s.parameters.begin() + static_cast<std::ptrdiff_t>(index),
                    [&](const ScenarioParameter& p) { return p.tied_to == parameter.tied_to; }) > 0;
  if (is_third)
    judge.fail(tied,
               fmt::format("\"{}\" is one of two copies already; a weight has at most two", other.name));
  if (!sums_copies(s.strategy))
    judge.fail(tied,
               fmt::format("the strategy {} has no sum over the copies of two stages; use megatron-ddp, "
                           "megatron-fsdp-v1 or fsdp2",
                           name_of(s.strategy)));
}

/// What a parameter says of its copies on tensor-parallel ranks.
void judge_copies(const Scenario& s, std::size_t index, const std::string& path, const Judge& judge) {
  const ScenarioParameter& parameter = s.parameters[index];
  if (!parameter.sequence_parallel) return;
  const std::string field = path + ".sequence_parallel";
  if (s.tensor == 1) judge.fail(field, "there is 1 tensor-parallel rank; set mesh.tensor, or leave it out");
  if (parameter.expert)
    judge.fail(field, "an expert's parameter is cut over tensor-parallel ranks; leave it out");
  if (tied_copy(s, static_cast<std::int32_t>(index)) >= 0)
    judge.fail(field,
               "a weight with a copy on another stage is cut over tensor-parallel ranks; leave it out");
  if (!sums_copies(s.strategy))
    judge.fail(field, fmt::format("the strategy {} has no sum over tensor-parallel ranks; use megatron-ddp, "
                                  "megatron-fsdp-v1 or fsdp2",
                                  name_of(s.strategy)));
}

void judge_owner(const Scenario& s, const Judge& judge) {
  judge.in_range("owner.bucket_size", s.bucket_size, limits::kBucketSize);
  judge.in_range("owner.slots", s.slots, limits::kSlots);
  if (s.reshard != Reshard::after_forward && !has_reshard(s))
    judge.fail("owner.reshard",
               fmt::format("\"{}\" is a switch of fsdp2 with FP8 weights, and this is {} {}; use "
                           "\"after-forward\"",
                           name_of(s.reshard), name_of(s.strategy), s.fp8 ? "with them" : "without"));
  if (s.offload && !allows_offload(s.strategy))
    judge.fail("owner.offload",
               fmt::format("gradients are moved to the host by fsdp2, deepspeed-2 and deepspeed-3, and the "
                           "strategy is {}; use false",
                           name_of(s.strategy)));
  if (s.staging && !allows_staging(s))
    judge.fail(
        "owner.staging",
        fmt::format("weights are staged by megatron-ddp-zero1 with zeroing, on one outer group and one "
                    "pipeline stage, without FP8 weights, aborts, resumes or R4, and this is {}; use false",
                    name_of(s.strategy)));
}

/// Owners that read autograd's gradients have no fused producers.
void judge_unfused(const Scenario& s, const Judge& judge) {
  if (!is_unfused_only(s.strategy)) return;
  if (!has_reference_hooks(s.write_mode))
    judge.fail("protocol.write_mode",
               fmt::format("{} is a protocol of fused producers, and the strategy {} has none; use R7",
                           name_of(s.write_mode), name_of(s.strategy)));
  for (std::size_t i = 0; i < s.uses.size(); ++i) {
    const Producer producer = s.uses[i].producer;
    if (returns_gradient(producer, s.write_mode)) continue;
    judge.fail(path_of("uses", i) + ".producer",
               fmt::format("\"{}\" under {}, where autograd holds every gradient; use \"unfused\"",
                           name_of(producer), name_of(s.strategy)));
  }
}

void judge_protocol(const Scenario& s, const Judge& judge) {
  judge_unfused(s, judge);
  if (s.write_mode == WriteMode::r4 && has_leases(s.strategy))
    judge.fail("protocol.write_mode",
               fmt::format("R4 speaks of persistent destinations only, and the strategy {} has leases; use "
                           "another write mode or a strategy that keeps its buffers",
                           name_of(s.strategy)));
  if (s.first_microbatch != FirstMicrobatch::none && s.write_mode != WriteMode::te_module)
    judge.fail(
        "protocol.first_microbatch",
        fmt::format("\"{}\" drives the module path only, and the write mode is {}; use \"none\", or the "
                    "write mode te-module",
                    name_of(s.first_microbatch), name_of(s.write_mode)));
  if (s.execution == Execution::eager) return;
  if (s.write_mode == WriteMode::r7)
    judge.fail("protocol.execution", fmt::format("\"{}\" moves fused writes, and R7 has none; use \"eager\"",
                                                 name_of(s.execution)));
  if (std::ranges::count(s.uses, Producer::fused, &ScenarioUse::producer) == 0)
    judge.fail(
        "protocol.execution",
        fmt::format("\"{}\" moves fused writes, and no use is fused; use \"eager\"", name_of(s.execution)));
}

void judge_tokens(const Scenario& s, const Judge& judge) {
  std::set<std::array<std::int32_t, 4>> counted;
  for (std::size_t i = 0; i < s.token_counts.size(); ++i) {
    const TokenCount& count = s.token_counts[i];
    const std::string path = path_of("schedule.token_counts", i);
    judge.index(path + ".rank", count.rank, s.ranks, "ranks");
    judge.index(path + ".microbatch", count.microbatch, s.microbatches, "microbatches");
    judge.in_range(path + ".tokens", count.tokens, limits::kTokens);
    judge.index_or_all(path + ".parameter", count.parameter, std::ssize(s.parameters), "parameters");
    if (count.group >= 0 && count.parameter < 0)
      judge.fail(path + ".group",
                 fmt::format("{} is a group of no parameter; give \"parameter\" too", count.group));
    if (count.parameter >= 0)
      judge.index_or_all(path + ".group", count.group,
                         s.parameters[static_cast<std::size_t>(count.parameter)].groups,
                         "groups of that parameter");
    if (!counted.insert({count.rank, count.microbatch, count.parameter, count.group}).second)
      judge.fail(path, fmt::format("rank {}, microbatch {} has a count already; give one", count.rank,
                                   count.microbatch));
  }
}

void judge_schedule(const Scenario& s, const Judge& judge) {
  judge.in_range("schedule.steps", s.steps, limits::kSteps);
  judge.in_range("schedule.microbatches", s.microbatches, limits::kMicrobatches);
  judge.in_range("schedule.tokens", s.tokens, limits::kTokens);
  judge_tokens(s, judge);
  for (std::size_t i = 0; i < s.silent.size(); ++i) {
    const Silence& silence = s.silent[i];
    const std::string path = path_of("schedule.silent", i);
    judge.index(path + ".parameter", silence.parameter, std::ssize(s.parameters), "parameters");
    judge.index_or_all(path + ".step", silence.step, s.steps, "steps");
    judge.index_or_all(path + ".rank", silence.rank, s.ranks, "ranks");
    judge.index_or_all(path + ".microbatch", silence.microbatch, s.microbatches, "microbatches");
  }
}

/// Elements of the parameter.
std::int64_t judge_shape(const std::vector<std::int64_t>& shape, const std::string& path,
                         const Judge& judge) {
  if (shape.empty() || shape.size() > 2)
    judge.fail(path,
               fmt::format("a shape of {} sizes; give 1 (bias, norm) or 2 (rows, columns)", shape.size()));
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    judge.in_range(path_of(path, d), shape[d], limits::kSize);
    const auto product = checked_multiply(elements, shape[d]);
    if (!product)
      judge.fail(path, fmt::format("the elements of {} do not fit 64 bits; use smaller sizes",
                                   fmt::join(shape, "x")));
    elements = *product;
  }
  return elements;
}

void judge_parameters(const Scenario& s, const Judge& judge) {
  if (s.parameters.empty()) judge.fail("parameters", "the list is empty; give at least one parameter");
  std::map<std::string_view, std::size_t> seen;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const ScenarioParameter& parameter = s.parameters[i];
    const std::string path = path_of("parameters", i);
    if (parameter.name.empty()) judge.fail(path + ".name", "\"\" is no name; give one that no other has");
    judge.label(path + ".name", parameter.name);
    const auto [other, is_new] = seen.emplace(parameter.name, i);
    if (!is_new)
      judge.fail(path + ".name", fmt::format("\"{}\" is the name of parameters[{}] too; give another",
                                             parameter.name, other->second));
    judge.gradient_type(path + ".dtype", parameter.dtype);
    judge.in_range(path + ".unit", parameter.unit, limits::kUnit);
    judge_stage(s, i, path, judge);
    judge_copies(s, i, path, judge);
    const auto sum = checked_add(total, judge_shape(parameter.shape, path + ".shape", judge));
    if (!sum || *sum > limits::kMaxElements)
      judge.fail(
          path + ".shape",
          fmt::format("with {} the parameters have more than {} elements, the most that a model may have",
                      fmt::join(parameter.shape, "x"), limits::kMaxElements));
    total = *sum;
    const bool counts_rows = is_megatron_fsdp_v1(s.strategy) || s.strategy == Strategy::fsdp_v2;
    if (counts_rows && parameter.shape.size() == 2 && parameter.shape[1] == 0)
      judge.fail(
          path_of(path + ".shape", 1),
          fmt::format("Megatron-FSDP counts in rows, and those of {} are empty; give at least 1 column",
                      fmt::join(parameter.shape, "x")));
  }
}

void judge_uses(const Scenario& s, const Judge& judge) {
  for (std::size_t i = 0; i < s.uses.size(); ++i) {
    const ScenarioUse& use = s.uses[i];
    const std::string path = path_of("uses", i);
    judge.index(path + ".parameter", use.parameter, std::ssize(s.parameters), "parameters");
    judge.in_range(path + ".unit", use.unit, {-1, limits::kUnit.high});
    const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(use.parameter)];
    const bool returns = use.producer == Producer::unfused || use.producer == Producer::assigned;
    if (parameter.shape.size() == 1 && !returns)
      judge.fail(path + ".producer",
                 fmt::format("\"{}\" with the 1-D parameter \"{}\": a bias or norm is never fused; use "
                             "\"unfused\"",
                             name_of(use.producer), parameter.name));
    if (use.producer == Producer::assigned &&
        std::ranges::count(s.uses, use.parameter, &ScenarioUse::parameter) > 1)
      judge.fail(path + ".producer",
                 fmt::format("\"assigned\" replaces what autograd summed for \"{}\", which has other uses; "
                             "use \"unfused\", or leave the others out",
                             parameter.name));
  }
}

/// Every contribution has to be told apart, or the data mode promises what it cannot hold.
void judge_provenance(const Scenario& s, const Judge& judge) {
  if (s.data != DataMode::provenance) return;
  std::vector<UseCounts> uses(s.parameters.size());
  for (const ScenarioUse& use : s.uses) {
    uses[static_cast<std::size_t>(use.parameter)].add(use, s.write_mode);
    const std::int32_t copy = tied_copy(s, use.parameter);
    if (copy >= 0) uses[static_cast<std::size_t>(copy)].add(use, s.write_mode);
  }
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const ScenarioParameter& parameter = s.parameters[i];
    const auto index = static_cast<std::int32_t>(i);
    if (!parameter.trainable || uses[i].all == 0 || parameter.numel() == 0) continue;
    if (provenance_coding(s, index, uses[i])) continue;
    const std::int32_t digits = provenance_digits(s, index, uses[i]);
    const std::int64_t contributions = provenance_contributions(s, index, uses[i]);
    judge.fail(path_of("parameters", i) + ".shape",
               fmt::format("{} has no room for the provenance of {} contributions ({} steps x {} ranks x {} "
                           "microbatches x {} uses) at {} digits an element; make a size at least {}, or set "
                           "numerics.data to \"integers\"",
                           fmt::join(parameter.shape, "x"), contributions, s.steps,
                           domain_size(s, parameter.expert) * tensor_copies(s, index), s.microbatches,
                           uses[i].all, digits, div_ceil(contributions, digits)));
  }
}

}  // namespace

bool sums_copies(Strategy strategy) {
  return strategy < Strategy::fsdp_v2 || strategy == Strategy::fsdp2;
}

void validate(const Scenario& scenario, const std::string& where) {
  const Judge judge(where);
  judge.label("name", scenario.name);
  judge.label("fault", scenario.fault);
  judge.gradient_type("numerics.main_grad", scenario.main_grad);
  judge.gradient_type("numerics.comm", scenario.comm);
  judge.in_range("numerics.clip", scenario.clip, limits::kClip);
  judge_mesh(scenario, judge);
  judge_outer(scenario, judge);
  judge_owner(scenario, judge);
  judge_parameters(scenario, judge);
  judge_uses(scenario, judge);
  validate_experts(scenario, where);
  validate_distributed(scenario, where);
  judge_protocol(scenario, judge);
  judge_schedule(scenario, judge);
  validate_loop(scenario, where);
  validate_fp8(scenario, where);
  judge_provenance(scenario, judge);
}

}  // namespace shardcheck
