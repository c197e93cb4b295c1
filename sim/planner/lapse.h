// Lapse: one thing that a training job forgets, or fails to forget, where its life is not straight: a step
// given up, a process resumed, a parameter that thaws, a synchronisation switched off. The planner without a
// lapse is right; faults of the zoo plan with one (sim/faults/loop_faults.cpp), so that what follows is what
// the real owner would do.
#pragma once

#include <cstdint>

namespace shardcheck {

enum class Lapse : std::uint8_t {
  none,
  keeps_touches,      ///< the touched bit of a lease survives the abort
  keeps_leases,       ///< leases that were open stay open
  keeps_counters,     ///< parameters that were ready stay counted
  keeps_gradients,    ///< param.grad is not cleared
  keeps_sums,         ///< the accumulator counts as begun, so the first sum is added
  zeroes_once,        ///< the step that is run again is not zeroed again
  arms_once,          ///< is_first_microbatch is armed in a fresh process only, as without a quantised recipe
  loses_attributes,   ///< what stood on parameter objects is gone in the process that goes on
  stays_unsynced,     ///< the switch that puts off the reduction stays off in the last microbatch of step 0
  keeps_membership,   ///< a bucket waits for the parameters that were trainable in the first step
  counts_hooks,       ///< a bucket waits for the hooks that fire, and for no parameter without one
  counts_early,       ///< a distributed weight counts as ready before its gradient is added
  hooks_distributed,  ///< autograd's hook folds what it holds for a distributed weight too
  keeps_chain,  ///< the hook folds param.grad and does not clear it, so that the next product adds to it
};

}  // namespace shardcheck
