// Collectives among virtual ranks. A group on one GPU is reduced by our own kernel in ascending order of the
// ranks; a group on several is reduced so on each GPU, and NCCL adds the partial sums (backends/fold_order.h
// says what is promised about that order). With one rank a GPU it is NCCL alone. Next: reduce.h,
// communicators.h.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/memory.h"
#include "backends/cuda/reduce.h"
#include "backends/cuda/reduce_steps.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

/// Operands of a collective, one a rank, in the order of the op's list of ranks.
struct CollectiveRanges {
  std::span<const Rank> ranks;
  std::span<const Range> inputs, outputs;  ///< without an address where another process has the rank
  std::span<const View> from, to;          ///< the same as the plan says it

  CollectiveRanges part(std::size_t first, std::size_t count) const {
    return {ranks.subspan(first, count), inputs.subspan(first, count), outputs.subspan(first, count),
            from.subspan(first, count), to.subspan(first, count)};
  }
  DType dtype() const { return inputs[0].dtype; }
  int gpu() const { return inputs[0].gpu; }
};

class CollectiveUnit {
 public:
  explicit CollectiveUnit(Machine& machine) : machine_(machine) {}

  /// Enqueues the op on `stream` of the GPUs that its ranks lie on, as far as they are of this process.
  void run(const Communicate& communicate, Stream stream, const CollectiveRanges& all, const Fold& fold);

 private:
  /// What all steps of one op share.
  struct Call {
    const Communicate& communicate;
    Stream stream;
    const Fold& fold;

    bool reduces() const { return communicate.collective != Collective::all_gather; }
    bool scatters() const { return communicate.collective == Collective::reduce_scatter; }
    bool averages() const { return communicate.reduction == Reduction::average; }
    bool takes_largest() const { return reduces() && communicate.reduction == Reduction::maximum; }
    /// The terms at `order` among the inputs of a whole group.
    Addends addends(std::span<const Range> inputs, std::span<const std::size_t> order) const;
  };
  /// One GPU's share of a group that spans several.
  struct Share {
    PartialSum sum;
    bool is_here = false;  ///< of this process; else there is nothing to enqueue
    cudaStream_t stream = nullptr;
    std::byte* scratch = nullptr;
  };

  void launch_whole_groups(const Call& call, std::span<const CollectiveRanges> groups);
  void run_through_scratch(const Call& call, const CollectiveRanges& group);
  void run_across(const Call& call, const CollectiveRanges& group);
  const std::vector<ncclComm_t>& members_of(std::span<const Share> shares);
  void run_by_nccl_alone(const Call& call, const CollectiveRanges& group, std::span<const Share> shares);
  void reduce_across(const Call& call, const CollectiveRanges& group, std::span<const Share> shares);
  void gather_across(const CollectiveRanges& group, std::span<const Share> shares);

  Machine& machine_;
  std::vector<CollectiveRanges> waiting_;  ///< groups for the next launch: of one GPU and one size
};

}  // namespace shardcheck::gpu
