// Scenario: a whole experiment as one small value. Everything that can differ between two training jobs and
// matter to the contract is a field here; the planner turns it into a plan, the oracle into the right answer.
// Written and read as JSON by sim/scenario/json.h, checked by sim/scenario/validate.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"
#include "sim/scenario/fp8.h"
#include "sim/scenario/loop_events.h"

namespace shardcheck {

/// Who owns the gradient buffers.
enum class Strategy : std::uint8_t {
  megatron_ddp,             ///< persistent buffer, all-reduce (wgrad 3.1)
  megatron_ddp_zero1,       ///< persistent buffer, reduce-scatter, sharded optimizer (3.2)
  fsdp_no_shard,            ///< Megatron-FSDP v1, everything replicated (3.4)
  fsdp_optim,               ///< Megatron-FSDP v1, optimizer state sharded
  fsdp_optim_grads,         ///< Megatron-FSDP v1, gradients sharded too: temporary leases
  fsdp_optim_grads_params,  ///< Megatron-FSDP v1, weights sharded too
  fsdp_v2,                  ///< Megatron-FSDP v2 (3.5)
  fsdp2,                    ///< PyTorch fully_shard (3.6)
  deepspeed_1,              ///< DeepSpeed ZeRO-1: persistent accumulator, reduced at the boundary (3.7)
  deepspeed_2,              ///< DeepSpeed ZeRO-2: flat bucket, reduced in every micro-step (3.8)
  deepspeed_3,              ///< DeepSpeed ZeRO-3: every parameter partitioned by itself (3.9)
};
inline constexpr int kStrategies = 11;
std::string_view name_of(Strategy strategy);

/// True where a producer writes into a temporary lease, false where it writes into a persistent buffer.
constexpr bool has_leases(Strategy s) {
  return s >= Strategy::fsdp_optim_grads && s != Strategy::deepspeed_1;
}
/// True where each rank owns a slice of the reduced gradient, false where every rank owns all of it.
constexpr bool shards_gradient(Strategy s) {
  return s != Strategy::megatron_ddp && s != Strategy::fsdp_no_shard;
}
constexpr bool is_megatron_ddp(Strategy s) {
  return s == Strategy::megatron_ddp || s == Strategy::megatron_ddp_zero1;
}
constexpr bool is_megatron_fsdp_v1(Strategy s) {
  return s >= Strategy::fsdp_no_shard && s <= Strategy::fsdp_optim_grads_params;
}
/// True where autograd holds every gradient and no producer is fused.
constexpr bool is_unfused_only(Strategy s) {
  return s >= Strategy::fsdp_v2;
}
/// True where nobody zeroes the accumulator: the first gradient of a step replaces what it held.
constexpr bool replaces_first(Strategy s) {
  return s == Strategy::fsdp_v2 || s >= Strategy::deepspeed_1;
}
/// True where the ranks may form outer groups, each with a whole set of shards (HSDP).
constexpr bool allows_outer(Strategy s) {
  return s == Strategy::megatron_ddp_zero1 || (s >= Strategy::fsdp_optim_grads && s <= Strategy::fsdp2);
}

/// True where reduced gradients may be moved to the host, whose optimizer reads them.
constexpr bool allows_offload(Strategy s) {
  return s == Strategy::fsdp2 || s == Strategy::deepspeed_2 || s == Strategy::deepspeed_3;
}

/// What the outer groups of a hybrid mesh have in common (wgrad 3.4, outer modes).
enum class OuterMode : std::uint8_t {
  replicate,  ///< HSDP: every outer group has all the shards; their sums are all-reduced
  shard,      ///< HFSDP: each outer group owns a part of every shard; their sums are reduce-scattered
};
std::string_view name_of(OuterMode mode);

/// In which microbatches a reduction runs, where the owner has a switch for it (wgrad 3.6).
enum class Sync : std::uint8_t { every, last };
std::string_view name_of(Sync sync);

/// When FSDP2 gives up the whole weights that it gathered: set_reshard_after_forward and
/// set_reshard_after_backward (wgrad 3.6).
enum class Reshard : std::uint8_t {
  after_forward,   ///< at the end of every pass
  after_backward,  ///< a forward leaves them to its backward
  after_step,      ///< in the last microbatch's backward: one gather a step
};
std::string_view name_of(Reshard reshard);

/// Which predicate chooses beta, and whose hooks run (wgrad 4.2 and 4.4).
enum class WriteMode : std::uint8_t {
  te_module,  ///< Transformer Engine today, module path
  te_ops,     ///< Transformer Engine today, ops path
  r1,         ///< overwrite_main_grad means "the destination is temporary"
  r2,         ///< two constructor booleans
  r3,         ///< a flag per lease that the owner flips after the first write
  r4,         ///< overwrite in the first microbatch, skip zeroing
  r5,         ///< first-touch bit, owner-side: the reference
  r6,         ///< every lease is zero-filled, producers always accumulate
  r7,         ///< no fusion
  r8,         ///< the product adds to param.grad, which the hook folds
};
inline constexpr int kWriteModes = 10;
std::string_view name_of(WriteMode mode);
/// One line about the predicate, for people.
std::string_view describe(WriteMode mode);
/// True for R5 to R8, whose hooks follow the contract; the others keep today's flags and hooks.
constexpr bool has_reference_hooks(WriteMode mode) {
  return mode >= WriteMode::r5;
}

/// Who drives is_first_microbatch on the module path.
enum class FirstMicrobatch : std::uint8_t { none, index, armed };
std::string_view name_of(FirstMicrobatch driver);

/// When the weight gradient is computed.
enum class Execution : std::uint8_t {
  eager,    ///< inside backward
  delayed,  ///< after all data gradients of the microbatch
  graph,    ///< captured at the first execution of a use, with its beta and from static inputs, and replayed
};
std::string_view name_of(Execution execution);

enum class Loss : std::uint8_t { mean, per_token };
std::string_view name_of(Loss loss);

/// Where the scale of mean loss is applied.
enum class Scaling : std::uint8_t { before, in_collective, finalize };
std::string_view name_of(Scaling scaling);

enum class DataMode : std::uint8_t { provenance, integers };
std::string_view name_of(DataMode mode);

enum class Producer : std::uint8_t {
  fused,        ///< writes main_grad itself, by the protocol under test
  unfused,      ///< returns a real gradient through autograd
  other,        ///< another op that writes main_grad itself and always chooses the right beta
  deferred,     ///< as fused, but its writes of all microbatches are drained after the last backward
  assigned,     ///< as unfused, but backward_dw assigns the gradient to param.grad after the backward
  unflagged,    ///< as fused, of a parameter without a flag: autograd gets nothing and calls no hook
  distributed,  ///< of a weight cut over Scenario::gtp ranks: a scratch, which it reduces and adds itself
};
inline constexpr int kProducers = 7;
std::string_view name_of(Producer producer);
/// One line about when it writes what, for people.
std::string_view describe(Producer producer);
/// True where the producer adds its product to what param.grad holds, in the type of local sums (R8).
constexpr bool is_chained(Producer producer, WriteMode mode) {
  return producer == Producer::fused && mode == WriteMode::r8;
}
/// True where the producer's gradient goes through param.grad in the parameter's type; R7 has no fusion.
constexpr bool is_unfused(Producer producer, WriteMode mode) {
  return producer == Producer::unfused || producer == Producer::assigned ||
         (producer == Producer::fused && mode == WriteMode::r7);
}
/// True where the producer's gradient goes through param.grad, from where the owner's hook folds it.
constexpr bool returns_gradient(Producer producer, WriteMode mode) {
  return is_unfused(producer, mode) || is_chained(producer, mode);
}
/// True where the producer writes main_grad with the beta of the protocol, when the execution says.
constexpr bool is_by_protocol(Producer producer) {
  return producer == Producer::fused || producer == Producer::unflagged;
}

struct ScenarioParameter {
  std::string name;
  std::vector<std::int64_t>
      shape;                  ///< 1-D (bias, norm: never fused) or 2-D (rows = out features, columns = in)
  DType dtype = DType::bf16;  ///< f32, bf16 or f16; also the type of its activations
  bool trainable = true;
  bool expert = false;             ///< reduced over the expert-data-parallel group
  bool sequence_parallel = false;  ///< every tensor-parallel rank has a copy, and finalize sums over them
  std::int32_t unit = 0;           ///< FSDP unit; also the bucket boundary of sharded strategies
  std::int32_t stage = 0;          ///< the pipeline stage that has it
  std::int32_t tied_to = -1;       ///< an earlier parameter of another stage whose weight this is a copy of
  std::int32_t thaws_at = 0;       ///< frozen in the steps before this one
  std::int32_t groups = 1;         ///< experts whose matrices it holds, one below the other (wgrad 4.1, Q10)
  bool operator==(const ScenarioParameter&) const = default;
  std::int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  std::int64_t columns() const { return shape.size() < 2 ? 1 : shape[1]; }
  std::int64_t numel() const { return rows() * columns(); }
  std::int64_t rows_of_group() const { return rows() / groups; }
};

/// One consumption of a parameter in a microbatch's forward. The list of uses is the forward order; a
/// parameter that appears twice is tied or repeated.
struct ScenarioUse {
  std::int32_t parameter = 0;
  Producer producer = Producer::fused;
  std::int32_t unit = -1;  ///< the FSDP unit that runs it; -1: the parameter's own
  bool grouped = false;    ///< of one call with the use before it in the list (grouped_calls.h)
  bool operator==(const ScenarioUse&) const = default;
};

/// The parameter has no use there; -1 stands for every step, rank or microbatch. A rank of its stage.
struct Silence {
  std::int32_t parameter = 0, step = -1, rank = -1, microbatch = -1;
  bool operator==(const Silence&) const = default;
};

/// Another number of tokens there, on every stage; 0 is an empty microbatch. Of a parameter: the tokens that
/// are routed to it, or to one of its groups; the loss still counts those of the microbatch.
struct TokenCount {
  std::int32_t rank = 0, microbatch = 0;
  std::int64_t tokens = 0;
  std::int32_t parameter = -1;  ///< -1: the microbatch
  std::int32_t group = -1;      ///< of the parameter; -1: all
  bool operator==(const TokenCount&) const = default;
};

/// A product that sees tokens: of a group of a parameter, on a rank in a microbatch.
struct TokenPlace {
  std::int32_t parameter = 0, group = 0, rank = 0, microbatch = 0;
};

struct Scenario {
  static constexpr int kSchema = 1;

  std::string name;
  std::uint64_t seed = 1;

  std::int32_t ranks = 2;   ///< data-parallel ranks (context-parallel peers included) of a cell: a stage's
                            ///< ranks with one tensor-parallel rank
  std::int32_t tensor = 1;  ///< tensor-parallel ranks
  std::int32_t stages = 1;  ///< pipeline stages; rank r of cell t of stage k is (k * tensor + t) * ranks + r
  std::int32_t expert_parallel = 1;  ///< expert parameters are reduced over ranks / expert_parallel ranks
  std::int32_t gtp = 1;              ///< consecutive ranks that share a distributed weight, row by row
  std::int32_t outer = 1;            ///< outer groups of ranks / outer consecutive ranks each
  OuterMode outer_mode = OuterMode::replicate;

  Strategy strategy = Strategy::megatron_ddp;
  std::int64_t bucket_size = 0;  ///< elements; 0: one bucket a buffer
  bool overlap = true;           ///< reductions start in backward, on their own stream
  std::int32_t slots = 2;        ///< storage of leases: this many slots, recycled
  bool zeroing = true;           ///< the owner zeroes its accumulators at the begin of a step
  bool staging = false;          ///< weights are gathered through the gradient buffer before each step
  Sync sync = Sync::every;       ///< FSDP2: when shards are reduced; last: microbatches are summed unsharded
  Sync outer_sync = Sync::last;  ///< when the outer reduction runs; every: FSDP2 only
  Reshard reshard = Reshard::after_forward;  ///< FSDP2 with FP8 weights: how long they stay whole
  bool offload = false;                      ///< reduced gradients and masters lie in the host's memory

  WriteMode write_mode = WriteMode::r5;
  FirstMicrobatch first_microbatch = FirstMicrobatch::none;
  Execution execution = Execution::eager;

  std::vector<ScenarioParameter> parameters;
  std::vector<ScenarioUse> uses;
  std::int32_t steps = 2;
  std::int32_t microbatches = 2;
  std::int64_t tokens = 1;  ///< of a rank and microbatch
  std::vector<TokenCount> token_counts;
  std::vector<Silence> silent;
  LoopEvents loop;  ///< recomputation, steps given up, processes resumed

  Loss loss = Loss::mean;
  Scaling scaling = Scaling::before;
  DType main_grad = DType::f32;
  DType comm = DType::f32;
  std::int32_t clip = 0;  ///< clipping multiplies the gradient by 2^-clip
  DataMode data = DataMode::provenance;

  std::optional<Fp8Training> fp8;  ///< matrices live in FP8; without it weights never exist

  std::string fault;  ///< an entry of the zoo that rewrites the plan, or empty

  bool operator==(const Scenario&) const = default;
};

/// Ranks of one pipeline stage, cell by cell.
constexpr std::int32_t stage_size(const Scenario& scenario) {
  return scenario.ranks * scenario.tensor;
}

/// Ranks of all stages. Functions below take any of them.
constexpr std::int32_t world_size(const Scenario& scenario) {
  return stage_size(scenario) * scenario.stages;
}

/// The tensor-parallel ranks whose copies of the parameter are summed, 1 where it is cut over them.
inline std::int32_t tensor_copies(const Scenario& scenario, std::int32_t parameter) {
  const bool copied = scenario.parameters[static_cast<std::size_t>(parameter)].sequence_parallel;
  return copied ? scenario.tensor : 1;
}

/// The other copy of a weight that two pipeline stages have, or -1.
std::int32_t tied_copy(const Scenario& scenario, std::int32_t parameter);

/// Tokens of that rank and microbatch, for the loss.
std::int64_t tokens_of(const Scenario& scenario, std::int32_t rank, std::int32_t microbatch);

/// Tokens that the product sees: those of the microbatch, unless some are routed to it.
std::int64_t tokens_at(const Scenario& scenario, TokenPlace place);

/// The most tokens that any product sees.
std::int64_t most_tokens(const Scenario& scenario);

/// Tokens of all ranks and microbatches of a step, at least 1.
std::int64_t tokens_of_step(const Scenario& scenario);

/// True when the parameter takes part in the gradient protocol of the step.
inline bool is_trained(const ScenarioParameter& parameter, std::int32_t step) {
  return parameter.trainable && step >= parameter.thaws_at;
}

/// True when the parameter has its uses there; a parameter that has not thawed yet has none.
bool is_used(const Scenario& scenario, std::int32_t parameter, std::int32_t step, std::int32_t rank,
             std::int32_t microbatch);

/// True for a GTP distributed weight (wgrad 4.1, Q11): all of its uses are of that producer. Rank r holds
/// rows [c * rows / gtp, (c + 1) * rows / gtp) of its gradient, with the coordinate c = r % gtp.
bool is_distributed(const Scenario& scenario, std::int32_t parameter);
bool has_distributed(const Scenario& scenario);

/// True when the owner reduces the parameter over the ranks of one coordinate only: an expert, whose peers
/// have other experts, or a distributed weight, whose peers have other rows.
inline bool has_coordinates(const Scenario& scenario, std::int32_t parameter) {
  return scenario.parameters[static_cast<std::size_t>(parameter)].expert ||
         is_distributed(scenario, parameter);
}
/// Coordinates that such parameters have; rank r has r % coordinates(). A scenario has experts or distributed
/// weights, not both.
constexpr std::int32_t coordinates(const Scenario& scenario) {
  return scenario.expert_parallel * scenario.gtp;
}

/// The ranks of its cell whose gradients of the parameter are summed with those of `rank`, ascending.
std::vector<std::int32_t> reduction_domain(const Scenario& scenario, std::int32_t parameter,
                                           std::int32_t rank);

/// A parameter's gradient on one rank.
struct Contributor {
  std::int32_t parameter = 0, rank = 0;
};

/// All that is summed into the parameter's gradient on `rank`: over its reduction domain, the copy on another
/// pipeline stage, and the copies of tensor-parallel ranks.
std::vector<Contributor> contributors(const Scenario& scenario, std::int32_t parameter, std::int32_t rank);

/// Ranks over which an owner reduces; `expert`: a parameter that has_coordinates(). Without distributed
/// weights, that is the size of a reduction domain.
constexpr std::int32_t domain_size(const Scenario& scenario, bool expert) {
  return expert ? scenario.ranks / coordinates(scenario) : scenario.ranks;
}

/// Ranks of the domain inside one outer group: those that shard one gradient.
constexpr std::int32_t inner_size(const Scenario& scenario, bool expert) {
  return domain_size(scenario, expert) / scenario.outer;
}

/// The type in which the outer groups add, which is where their sums lie.
constexpr DType type_of_outer_sum(const Scenario& scenario) {
  const bool on_shard = has_leases(scenario.strategy) && scenario.strategy != Strategy::fsdp2;
  return on_shard ? scenario.main_grad : scenario.comm;
}

/// The type in which contributions are added before they are reduced. A lease is the communication buffer
/// itself, a persistent destination is main_grad.
constexpr DType type_of_local_sum(const Scenario& scenario) {
  return has_leases(scenario.strategy) ? scenario.comm : scenario.main_grad;
}

/// True where weights may be staged in the gradient buffer (wgrad 6.4): the distributed optimizer, which
/// zeroes it, in a loop that goes straight on.
inline bool allows_staging(const Scenario& s) {
  return s.strategy == Strategy::megatron_ddp_zero1 && s.zeroing && s.write_mode != WriteMode::r4 &&
         s.outer == 1 && s.stages == 1 && s.tensor == 1 && !s.fp8 && s.loop.aborts.empty() &&
         s.loop.resumes.empty() && !has_distributed(s);
}

/// True where the owner has a choice how long gathered weights stay whole.
inline bool has_reshard(const Scenario& s) {
  return s.strategy == Strategy::fsdp2 && s.fp8.has_value();
}

/// True when param.grad of the parameter is a local sum that fused uses add to (R8).
bool has_chain(const Scenario& scenario, std::int32_t parameter);

/// True when autograd calls a hook for the parameter: some use returns something. Today's Megatron-FSDP goes
/// over what is left at the end of every backward, and needs none (wgrad 3.4).
bool has_hook(const Scenario& scenario, std::int32_t parameter);

/// True when the owner fills its accumulators with zeros at the begin of a step.
constexpr bool zeroes(const Scenario& scenario) {
  return scenario.zeroing && !replaces_first(scenario.strategy);
}

/// The scenario in one paragraph, for reports.
std::string describe(const Scenario& scenario);

}  // namespace shardcheck
