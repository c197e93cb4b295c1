// Collectives among virtual ranks. The result of a group is formed in scratch memory and dealt out
// afterwards, so that an output inside an input is no special case. A reduction adds in the order of a fold
// (backends/fold_order.h), so that the reference reproduces any number of GPUs.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/memory.h"
#include "backends/fold_order.h"
#include "core/plan/op.h"

namespace shardcheck::cpu {

/// Operands of a collective, one a rank, in the order of the op's list of ranks.
struct CollectiveRanges {
  std::span<const Rank> ranks;
  std::span<const Range> inputs, outputs;
};

class CollectiveUnit {
 public:
  void run(const Communicate& communicate, const CollectiveRanges& all, const Fold& fold);
  /// The same in the plan's own order: ascending ranks.
  void run(const Communicate& communicate, const CollectiveRanges& all);

 private:
  void run_group(const Communicate& communicate, const CollectiveRanges& group, const Fold& fold);
  void reduce(Reduction reduction, const CollectiveRanges& group, const Fold& fold);
  void gather(const CollectiveRanges& group);
  void largest(const CollectiveRanges& group);

  std::vector<std::byte> result_;  ///< what the group computed, in the element type
};

}  // namespace shardcheck::cpu
