// LoopEvents: what a training loop does besides steps and microbatches: activations that are computed again
// in backward, steps that are given up and run again, processes that end and are resumed (wgrad W37, W40).
// Part of Scenario; the planner acts on it, properties/loop_relations.h compare with the loop without.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardcheck {

struct Scenario;

/// FSDP units whose forward runs again inside backward, before their own backward.
struct Recomputed {
  bool all = false;
  std::vector<std::int32_t> units;  ///< ascending; empty when all are
  bool operator==(const Recomputed&) const = default;
};

/// An attempt at the step ends there, on all ranks, and the step is run again from its begin. Several of one
/// step are that many attempts.
struct Abort {
  std::int32_t step = 0;
  std::int32_t microbatch = -1;  ///< in whose backward, an exception; -1: after all, a rerun
  std::int32_t after_uses = 0;   ///< uses of that backward that were done by then
  bool operator==(const Abort&) const = default;
};

struct LoopEvents {
  Recomputed recompute;
  std::vector<Abort> aborts;          ///< ascending by step
  std::vector<std::int32_t> resumes;  ///< steps after which the process ends and a fresh one goes on
  bool operator==(const LoopEvents&) const = default;
};

/// True when the forward of the unit runs again in backward.
bool is_recomputed(const Scenario& scenario, std::int32_t unit);

/// The unit that runs the use at that position of Scenario::uses.
std::int32_t unit_of_use(const Scenario& scenario, std::size_t position);

/// True when the process ends after the step, and another one takes the next step.
bool is_resumed_after(const Scenario& scenario, std::int32_t step);

/// Leaves out events of steps, microbatches, uses and units that are gone.
void mend_loop(Scenario& scenario);

/// Throws bad_input when these events, or the thawing of a parameter, do not fit the rest of the scenario.
void validate_loop(const Scenario& scenario, const std::string& where);

/// A sentence about each kind of event, for reports; empty without any.
std::string describe_loop(const Scenario& scenario);

}  // namespace shardcheck
