#include "sim/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/scenario/grouped_calls.h"

namespace shardcheck {

std::string_view name_of(Strategy strategy) {
  constexpr std::string_view names[] = {"megatron-ddp",
                                        "megatron-ddp-zero1",
                                        "megatron-fsdp-v1/no_shard",
                                        "megatron-fsdp-v1/optim",
                                        "megatron-fsdp-v1/optim_grads",
                                        "megatron-fsdp-v1/optim_grads_params",
                                        "megatron-fsdp-v2",
                                        "fsdp2",
                                        "deepspeed-1",
                                        "deepspeed-2",
                                        "deepspeed-3"};
  return names[static_cast<int>(strategy)];
}

std::string_view name_of(OuterMode mode) {
  return mode == OuterMode::replicate ? "replicate" : "shard";
}

std::string_view name_of(Sync sync) {
  return sync == Sync::every ? "every" : "last";
}

std::string_view name_of(Reshard reshard) {
  constexpr std::string_view names[] = {"after-forward", "after-backward", "after-step"};
  return names[static_cast<int>(reshard)];
}

std::string_view name_of(WriteMode mode) {
  constexpr std::string_view names[] = {"te-module", "te-ops", "R1", "R2", "R3",
                                        "R4",        "R5",     "R6", "R7", "R8"};
  return names[static_cast<int>(mode)];
}

std::string_view describe(WriteMode mode) {
  constexpr std::string_view sentences[] = {
      "Transformer Engine today, module path: overwrite flag, then is_first_microbatch",
      "Transformer Engine today, ops path: overwrite flag of the strategy",
      "overwrite flag that means 'the destination is temporary'",
      "two constructor booleans, constant per layer",
      "a flag per lease that the owner flips after the first write",
      "overwrite in the first microbatch, the owner skips zeroing",
      "first-touch bit of the lease, owner-side (the reference)",
      "every lease is zero-filled, producers always accumulate",
      "no fusion: the owner's hook folds a real gradient",
      "the product is added to param.grad in the type of local sums; the owner's hook folds it"};
  return sentences[static_cast<int>(mode)];
}

std::string_view name_of(FirstMicrobatch driver) {
  constexpr std::string_view names[] = {"none", "index", "armed"};
  return names[static_cast<int>(driver)];
}

std::string_view name_of(Execution execution) {
  constexpr std::string_view names[] = {"eager", "delayed", "graph"};
  return names[static_cast<int>(execution)];
}

std::string_view name_of(Loss loss) {
  return loss == Loss::mean ? "mean" : "per_token";
}

std::string_view name_of(Scaling scaling) {
  constexpr std::string_view names[] = {"before", "in_collective", "finalize"};
  return names[static_cast<int>(scaling)];
}

std::string_view name_of(DataMode mode) {
  return mode == DataMode::provenance ? "provenance" : "integers";
}

std::string_view name_of(Producer producer) {
  constexpr std::string_view names[] = {"fused",    "unfused",   "other",      "deferred",
                                        "assigned", "unflagged", "distributed"};
  return names[static_cast<int>(producer)];
}

std::string_view describe(Producer producer) {
  constexpr std::string_view sentences[] = {
      "writes main_grad itself by the protocol, raises the flag, returns a placeholder",
      "returns a real gradient through autograd; the owner's hook folds it",
      "another op that writes main_grad itself, with the beta of the first touch",
      "as fused, but the writes of all microbatches are drained after the last backward",
      "returns nothing in backward; backward_dw assigns the gradient to param.grad, then the hook runs",
      "writes main_grad itself by the protocol, of a parameter without a flag: autograd calls no hook for "
      "it",
      "writes the whole gradient of a weight that is cut over ranks (mesh.gtp) into a scratch, reduces it "
      "over "
      "them, and adds its part to main_grad"};
  return sentences[static_cast<int>(producer)];
}

std::int32_t tied_copy(const Scenario& scenario, std::int32_t parameter) {
  if (scenario.stages == 1) return -1;
  const std::int32_t tied_to = scenario.parameters[static_cast<std::size_t>(parameter)].tied_to;
  if (tied_to >= 0) return tied_to;
  const auto copy = std::ranges::find(scenario.parameters, parameter, &ScenarioParameter::tied_to);
  return copy == scenario.parameters.end() ? -1
                                           : static_cast<std::int32_t>(copy - scenario.parameters.begin());
}

bool has_chain(const Scenario& scenario, std::int32_t parameter) {
  return std::ranges::any_of(scenario.uses, [&](const ScenarioUse& use) {
    return use.parameter == parameter && is_chained(use.producer, scenario.write_mode);
  });
}

bool has_hook(const Scenario& scenario, std::int32_t parameter) {
  if (is_megatron_fsdp_v1(scenario.strategy) && !has_reference_hooks(scenario.write_mode)) return true;
  bool is_seen = false, is_used = false;
  for (const ScenarioUse& use : scenario.uses) {
    is_used |= use.parameter == parameter;
    is_seen |= use.parameter == parameter && use.producer != Producer::unflagged &&
               use.producer != Producer::distributed;
  }
  return is_seen || !is_used;
}

bool is_distributed(const Scenario& scenario, std::int32_t parameter) {
  return std::ranges::any_of(scenario.uses, [&](const ScenarioUse& use) {
    return use.parameter == parameter && use.producer == Producer::distributed;
  });
}

bool has_distributed(const Scenario& scenario) {
  return std::ranges::count(scenario.uses, Producer::distributed, &ScenarioUse::producer) > 0;
}

std::int64_t tokens_of(const Scenario& scenario, std::int32_t rank, std::int32_t microbatch) {
  for (const TokenCount& count : scenario.token_counts) {
    const bool is_there = count.rank == rank % scenario.ranks && count.microbatch == microbatch;
    if (is_there && count.parameter < 0) return count.tokens;
  }
  return scenario.tokens;
}

std::int64_t tokens_at(const Scenario& scenario, TokenPlace place) {
  const TokenCount* nearest = nullptr;  // of the group, else of the parameter, else of the microbatch
  for (const TokenCount& count : scenario.token_counts) {
    if (count.rank != place.rank % scenario.ranks || count.microbatch != place.microbatch) continue;
    if (count.parameter >= 0 && count.parameter != place.parameter) continue;
    if (count.group >= 0 && count.group != place.group) continue;
    const auto told = [](const TokenCount& c) { return std::pair(c.parameter, c.group); };
    if (nearest == nullptr || told(count) > told(*nearest)) nearest = &count;
  }
  return nearest == nullptr ? scenario.tokens : nearest->tokens;
}

std::int64_t most_tokens(const Scenario& scenario) {
  std::int64_t most = scenario.tokens;
  for (const TokenCount& count : scenario.token_counts) most = std::max(most, count.tokens);
  return most;
}

std::int64_t tokens_of_step(const Scenario& scenario) {
  std::int64_t sum = 0;
  for (std::int32_t rank = 0; rank < scenario.ranks; ++rank) {
    for (std::int32_t m = 0; m < scenario.microbatches; ++m) sum += tokens_of(scenario, rank, m);
  }
  return std::max<std::int64_t>(sum, 1);
}

bool is_used(const Scenario& scenario, std::int32_t parameter, std::int32_t step, std::int32_t rank,
             std::int32_t microbatch) {
  if (step < scenario.parameters[static_cast<std::size_t>(parameter)].thaws_at) return false;
  const auto covers = [](std::int32_t where, std::int32_t index) { return where == -1 || where == index; };
  for (const Silence& s : scenario.silent) {
    if (s.parameter == parameter && covers(s.step, step) && covers(s.rank, rank % scenario.ranks) &&
        covers(s.microbatch, microbatch)) {
      return false;
    }
  }
  return true;
}

std::vector<std::int32_t> reduction_domain(const Scenario& scenario, std::int32_t parameter,
                                           std::int32_t rank) {
  const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(parameter)];
  const std::int32_t stride = p.expert ? scenario.expert_parallel : 1;
  const std::int32_t cell = p.stage * scenario.tensor + rank % stage_size(scenario) / scenario.ranks;
  const std::int32_t first = cell * scenario.ranks;
  std::vector<std::int32_t> domain;
  for (std::int32_t r = p.expert ? rank % stride : 0; r < scenario.ranks; r += stride)
    domain.push_back(first + r);
  return domain;
}

std::vector<Contributor> contributors(const Scenario& scenario, std::int32_t parameter, std::int32_t rank) {
  std::vector<Contributor> all;
  for (const std::int32_t copy : {parameter, tied_copy(scenario, parameter)}) {
    if (copy < 0) continue;
    for (std::int32_t cell = 0; cell < tensor_copies(scenario, copy); ++cell) {
      const std::int32_t inside = (rank + cell * scenario.ranks) % stage_size(scenario);
      for (const std::int32_t peer : reduction_domain(scenario, copy, inside)) all.push_back({copy, peer});
    }
  }
  return all;
}

namespace {

std::string shapes_of(const Scenario& scenario) {
  std::string text;
  for (std::size_t p = 0; p < scenario.parameters.size(); ++p) {
    if (p == 4 && scenario.parameters.size() > 5) {
      return fmt::format("{} and {} more", text, scenario.parameters.size() - p);
    }
    const ScenarioParameter& parameter = scenario.parameters[p];
    std::string uses;
    for (const ScenarioUse& use : scenario.uses) {
      if (use.parameter == static_cast<std::int32_t>(p))
        uses += fmt::format("{}{}", uses.empty() ? "" : "+", name_of(use.producer));
    }
    std::string place = scenario.stages > 1 ? fmt::format(", stage {}", parameter.stage) : "";
    if (parameter.tied_to >= 0)
      place += " tied to " + scenario.parameters[static_cast<std::size_t>(parameter.tied_to)].name;
    if (parameter.sequence_parallel) place += ", sequence-parallel";
    if (parameter.thaws_at > 0) place += fmt::format(", thaws at step {}", parameter.thaws_at);
    if (parameter.groups > 1) place += fmt::format(", {} experts in one", parameter.groups);
    text += fmt::format("{}{} ({}, {}{}{}{})", p == 0 ? "" : ", ", parameter.name,
                        fmt::join(parameter.shape, "x"), uses.empty() ? "unused" : uses,
                        parameter.expert ? ", expert" : "", parameter.trainable ? "" : ", frozen", place);
  }
  return text;
}

std::string count(std::int64_t n, std::string_view noun) {
  const std::string_view ending = n == 1 ? "" : noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", n, noun, ending);
}

}  // namespace

std::string describe(const Scenario& scenario) {
  std::string text = fmt::format(
      "{} on {}, {} of {}, beta by {} ({}). Parameters: {}. Loss {}, scaled {}, main_grad {}, wire {}, data "
      "{}.",
      name_of(scenario.strategy), count(scenario.ranks, "rank"), count(scenario.steps, "step"),
      count(scenario.microbatches, "microbatch"), name_of(scenario.write_mode), name_of(scenario.execution),
      shapes_of(scenario), name_of(scenario.loss), name_of(scenario.scaling), name_of(scenario.main_grad),
      name_of(scenario.comm), name_of(scenario.data));
  if (!scenario.silent.empty())
    text += fmt::format(" {} of a parameter without a use.", count(std::ssize(scenario.silent), "case"));
  text += describe_calls(scenario);
  const std::int64_t routed = std::ssize(scenario.token_counts) -
                              std::ranges::count(scenario.token_counts, -1, &TokenCount::parameter);
  const std::int64_t counted = std::ssize(scenario.token_counts) - routed;
  if (counted > 0) text += fmt::format(" {} with another number of tokens.", count(counted, "microbatch"));
  if (routed > 0) text += fmt::format(" {} of tokens routed to a parameter.", count(routed, "number"));
  if (scenario.tensor > 1)
    text += fmt::format(" {} tensor-parallel ranks, each with {}.", scenario.tensor,
                        count(scenario.ranks, "data-parallel rank"));
  if (scenario.stages > 1)
    text += fmt::format(" {} pipeline stages of {}.", scenario.stages, count(stage_size(scenario), "rank"));
  if (scenario.gtp > 1) text += fmt::format(" Distributed weights are cut over {} ranks.", scenario.gtp);
  if (scenario.clip > 0) text += fmt::format(" Clipping by 2^-{}.", scenario.clip);
  if (scenario.outer > 1)
    text += fmt::format(
        " {} outer groups {}.", scenario.outer,
        scenario.outer_mode == OuterMode::replicate ? "hold replicas of all shards" : "share every shard");
  if (scenario.staging) text += " Weights are gathered through the gradient buffer before each step.";
  if (scenario.sync == Sync::last) text += " Microbatches are summed unsharded, and reduced in the last.";
  if (scenario.offload) text += " Reduced gradients and masters lie in the host's memory.";
  text += describe_loop(scenario);
  text += describe_fp8(scenario);
  if (!scenario.zeroing) text += " The owner does not zero.";
  if (!scenario.fault.empty()) text += fmt::format(" Fault {} is switched on.", scenario.fault);
  return text;
}

}  // namespace shardcheck
