// Planned: a plan together with what an executor must know of the scenario behind it. Made by
// sim/planner/planner.h, run by sim/executor/executor.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "sim/owners/rows.h"

namespace shardcheck {

/// Where the operands of one use lie on every rank: x and dy of a group of it (the only one of most
/// parameters), for the largest number of tokens.
struct InputSlot {
  std::int32_t parameter = 0, step = 0, microbatch = 0, use = 0, group = 0;
  View x, dy;
};

/// Why a product with an FP8 weight runs. Only the first forward of a microbatch, and its backward, push
/// amaxes (F55).
enum class Pass : std::uint8_t { forward, backward, recompute, evaluation };
inline constexpr int kPasses = 4;

/// The initial value of an FP8 weight, the same on every rank but for experts.
struct InitialSlot {
  std::int32_t parameter = 0;
  View view;
};

/// Where a product with an FP8 weight leaves its result, row-major, tokens x rows or columns of the weight,
/// for the largest number of tokens; every step writes it again. Zero where no product wrote.
struct OutputSlot {
  std::int32_t parameter = 0, use = 0, microbatch = 0;
  Pass pass = Pass::forward;
  View view;
};

/// State of delayed scaling of a weight, on every rank: H amaxes, and scale with inverse of the next version.
struct DelayedSlot {
  std::int32_t parameter = 0;
  View history, scale;
};

/// The same of what a use multiplies its weight by: x (forward) or dy (backward).
struct DelayedActivation {
  std::int32_t parameter = 0, use = 0;
  Pass pass = Pass::forward;
  float largest = 448;  ///< of its codes
  View history, scale;
};

/// Codes of a piece of an FP8 weight, on the rank that casts them.
struct CodePiece {
  recipe::Direction direction = recipe::Direction::row;
  Placement place;
};

struct Planned {
  Plan plan;
  std::vector<InputSlot> inputs;
  std::vector<InitialSlot> initial;
  std::vector<OutputSlot> outputs;
  std::vector<DelayedSlot> delayed;
  std::vector<DelayedActivation> delayed_activations;
  std::vector<Placement> masters;      ///< pieces of FP8 weights, by rank; empty ones are left out
  std::vector<CodePiece> code_pieces;  ///< of the same, a piece and copy that is no derived one
  RowSet rows;                         ///< of the owner's state machine that the plan takes
  OpIndex setup_end;                   ///< inputs are written after the ops before this one
  std::vector<OpIndex> finishes;       ///< a step: the op after its last Finish, when gradients may be read
};

}  // namespace shardcheck
