// Plan: what a scenario means, as data. Any backend executes it, the monitor judges it before it runs, a
// fault is a rewrite of it. Next: core/plan/builder.h makes one, core/backend.h executes one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan/op.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// What a buffer is for; it decides which rules of the contract speak of its bytes.
enum class BufferRole : std::uint8_t {
  inputs,        ///< activations and output gradients, written before the first op
  graph_inputs,  ///< what a captured graph reads: each replay finds the operands of its use copied to it
  main_grad,     ///< persistent gradient destination
  lease_slot,    ///< storage of temporary destinations, recycled
  shard,         ///< running accumulator of the reduced gradient
  staging,       ///< communication buffer in another type
  param_grad,    ///< what autograd holds for the owner's hook
  placeholder,   ///< the cached dummy gradient
  master,        ///< fp32 weights of the optimizer
  weights,       ///< weights in the parameter's type
  initial,       ///< the high-precision weights that codes were first made of, kept until masters are built
  codes,         ///< FP8 codes of weights
  scales,        ///< their stored scales
  amaxes,        ///< largest magnitudes, factors and histories on the way to a scale
  activations,   ///< what products of weights read and write: quantised inputs, outputs
};
std::string_view name_of(BufferRole role);

/// An allocation of the same size on every rank of the plan.
struct Buffer {
  std::string name;
  BufferRole role{};
  DType dtype = DType::f32;
  std::int64_t numel = 0;
  bool on_host = false;  ///< in page-locked memory of the host, which a device reads and writes too
};

/// A parameter as far as a plan speaks of it.
struct PlanParameter {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  bool trainable = true;
  std::int32_t group = 1;     ///< ranks over which its gradient is summed, inside one outer group
  std::int32_t outer = 1;     ///< outer groups over which those sums are summed once more
  bool tied = false;          ///< a copy of it on another pipeline stage is summed with it in finalize
  std::int32_t tensor = 1;    ///< tensor-parallel ranks whose copies of it are summed in finalize
  DType dtype = DType::bf16;  ///< of the parameter, and of a gradient that autograd holds
  std::int32_t thaws_at = 0;  ///< frozen in the steps before this one
  std::int32_t shards = 0;    ///< ranks that share a distributed weight and reduce its gradient before it is
                              ///< accumulated (GTP); 0: it is no such weight
  bool hooked = true;         ///< a hook, or the producer of a distributed weight, has it counted as ready;
                              ///< else nobody does (Q3)
  std::int64_t numel() const { return rows * columns; }
  bool has_copies() const { return tied || tensor > 1; }
};

/// The types that a contribution is declared to pass through on its way to the consumer, and no others (wgrad
/// 8.3). A fused write begins at `local`; what autograd holds is in the parameter's type before that.
struct DeclaredPipeline {
  DType local = DType::f32;      ///< contributions are added in it before they are reduced
  DType wire = DType::f32;       ///< they are scaled and reduced in it
  DType outer = DType::f32;      ///< outer groups reduce in it, and hold what they have not reduced yet
  DType main_grad = DType::f32;  ///< reduced gradients are accumulated and consumed in it
};
/// "local sums f32, wire bf16, outer sums f32, main_grad f32".
std::string to_text(const DeclaredPipeline& declared);

/// Where a parameter's gradient lies inside a destination buffer, so that a byte can be named: the elements
/// [first, first + view.numel) of the parameter, flattened row-major. `rank` -1: on every rank.
struct Placement {
  ParamId parameter;
  Rank rank{-1};
  View view;
  std::int64_t first = 0;
};

/// One quantised copy of a parameter, with the same views on every rank; a rank that holds a shard has valid
/// codes in its own pieces only (fp8 4.9).
struct WeightCopy {
  ParamId parameter;
  recipe::Direction direction = recipe::Direction::row;
  View codes, scales;
  bool is_derived = false;  ///< made out of the row copy after a gather, never gathered itself
  bool is_kept = false;     ///< derived, and declared to outlive the row copy until the codes change
};

/// Undefined bytes are filled with it: a quiet NaN in one run, a large finite value in another (W3).
enum class Poison : std::uint8_t { quiet_nan, large };

/// The bit pattern of `poison` in `type`. Large: about 2^96 (fp32, bf16) or 40000 (fp16), not a power of two.
std::uint32_t poison_bits(Poison poison, DType type);

struct Plan {
  std::int32_t ranks = 1;
  std::optional<DeclaredPipeline> declared;  ///< where there is none, no cast is judged
  Poison poison = Poison::quiet_nan;
  std::vector<PlanParameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<Placement> placements;            ///< in persistent buffers (main_grad, shard, staging)
  std::vector<std::vector<Placement>> buckets;  ///< in a lease of this bucket: views relative to its begin
  std::vector<Op> ops;
  std::vector<Placement>
      owned;  ///< what the consumer reads at the Finish of every step, by parameter and rank
  std::vector<WeightCopy> weight_copies;  ///< of parameters with FP8 weights
  std::int32_t events = 0;

  std::vector<View> view_arena;
  std::vector<Rank> rank_arena;

  std::span<const Rank> ranks_of(const Op& op) const {
    return {rank_arena.data() + op.first_rank, static_cast<std::size_t>(op.ranks)};
  }
  /// Operand `operand` of `op`, one view a rank, in the order of ranks_of(op).
  std::span<const View> operand(const Op& op, int operand) const {
    return {view_arena.data() + op.first_view + static_cast<std::ptrdiff_t>(operand) * op.ranks,
            static_cast<std::size_t>(op.ranks)};
  }
  const Buffer& buffer(BufferId id) const { return buffers[static_cast<std::size_t>(id.value)]; }
};

/// Which operands of an op are read and written: bit j stands for operand j.
struct Access {
  std::uint8_t reads = 0, writes = 0;
};
Access access_of(const Action& action);

/// True for ops that only tell of the protocol and move no byte.
bool is_event(const Action& action);

/// The op in words, for people: "wgrad GEMM, beta = 1, of w0 (use 0, microbatch 1, step 0) into
/// main_grad[0:4) on ranks 0 to 1".
std::string describe(const Plan& plan, const Op& op);

/// "all-reduce (sum)".
std::string describe(const Communicate& communicate);

/// "ranks 0 to 3", "rank 2", "ranks 0, 2".
std::string describe(std::span<const Rank> ranks);

}  // namespace shardcheck
