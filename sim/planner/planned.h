// Planned: a plan together with what an executor must know of the scenario behind it. Made by
// sim/planner/planner.h, run by sim/executor/executor.h.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// Where the operands of one use lie on every rank: x and dy for the largest number of tokens.
struct InputSlot {
  std::int32_t parameter = 0, step = 0, microbatch = 0, use = 0;
  View x, dy;
};

struct Planned {
  Plan plan;
  std::vector<InputSlot> inputs;
  OpIndex setup_end;              ///< inputs are written after the ops before this one
  std::vector<OpIndex> finishes;  ///< a step: the op after its last Finish, when gradients may be read
};

}  // namespace shardcheck
