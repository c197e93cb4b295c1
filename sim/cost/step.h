// Step: one training step of one rank at any world size, op by op: what is gathered, multiplied, reduced,
// accumulated and stepped, on a stream for computing and one for collectives, in the order that the owners of
// sim/owners give for small worlds (tested against their plans). No other rank is planned: a collective takes
// what its whole group takes, and everybody is assumed to come in time. Next: closed_form.h, what the sums
// are held to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/parameter.h"
#include "sim/cost/groups.h"
#include "sim/cost/pieces.h"
#include "sim/cost/timeline.h"

namespace shardcheck::cost {

/// What is trained, by what, on which machines.
struct StepJob {
  const System* system = nullptr;
  OuterAxis outer = OuterAxis::none;
  std::span<const layout::Parameter> parameters;  ///< of the rank; registration order is forward order
  std::span<const Piece> pieces;                  ///< of the rank; every parameter is in one
  Groups dense, expert;
  Widths widths;
  bool is_8bit = false;  ///< products run at the 8-bit rate
  bool reshards = true;  ///< sharded weights are dropped after forward and gathered again
  std::int64_t microbatches = 1;
  double tokens = 0;         ///< of a rank and microbatch
  double expert_tokens = 0;  ///< those that one expert sees
  std::int32_t slots = 2;    ///< leases, recycled; more where more are open at once
  Network network;
  Gpu gpu;

  const Groups& groups_of(const Piece& piece) const { return piece.expert ? expert : dense; }
  double world() const { return dense.inner.ranks * dense.outer.ranks; }
  double gathers() const { return reshards ? 2 : 1; }
};

enum class Lane : std::uint8_t { compute, collectives };
inline constexpr int kLanes = 2;
std::string_view name_of(Lane lane);

enum class Work : std::uint8_t {
  zero,                  ///< gradient buffers := 0
  gather,                ///< of weights
  forward,               ///< product with the weight
  dgrad,                 ///< data gradient
  wgrad,                 ///< weight gradient, into its destination
  pack,                  ///< autograd's gradients into the input of a reduction
  stage,                 ///< gradients into a buffer of the wire's type
  scale,                 ///< times 1 / W
  all_reduce,            ///< of gradients
  reduce_scatter,        ///< of gradients
  unstage,               ///< reduced gradients back into their own type
  accumulate,            ///< onto the running shard
  outer_all_reduce,      ///< of the accumulated shard, over the outer axis
  outer_reduce_scatter,  ///< the same where the outer axis shards too
  optimizer,             ///< Adam, on the rank's own part
  outer_gather,          ///< of stepped weights, over the outer axis
};
inline constexpr int kWorks = 16;
std::string_view name_of(Work work);

struct StepOp {
  Work work{};
  Lane lane{};
  std::int32_t piece = 0;
  std::int32_t microbatch = -1;   ///< -1: before the first or behind the last
  std::int64_t elements = 0;      ///< of the tensor, of the piece, or of the part that is touched
  double ranks = 1;               ///< of the group of a collective
  double sent = 0;                ///< bytes that the rank sends
  double touched = 0;             ///< bytes that other ops read and write
  double begin = 0, seconds = 0;  ///< with overlap
};

/// Bytes on the rank, each at its largest. Activations are not in it.
struct StepMemory {
  double weights = 0, gradients = 0, optimizer = 0;  ///< between steps
  double staging = 0;                                ///< gradients in the wire's type beside their own
  double leases = 0;                                 ///< temporary destinations, or inputs of reductions
  double autograd = 0;                               ///< gradients on their way into these
  double gathered = 0;                               ///< whole weights: in use, and prefetched

  double kept() const { return weights + gradients + optimizer; }
  double peak() const { return kept() + staging + leases + autograd + gathered; }
};

struct StepFigures {
  StepMemory memory;
  double sent = 0;     ///< bytes
  double seconds = 0;  ///< to the end of the last op, streams side by side
  double serial = 0;   ///< all ops one after another
  double busy[kLanes] = {};
};

/// Plans a step behind the first one and calls `each`, where given, for every op in the order of issue. Time:
/// linear in parameters times microbatches.
StepFigures plan_step(const StepJob& job, const std::function<void(const StepOp&)>& each);

}  // namespace shardcheck::cost
