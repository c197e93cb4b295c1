// Comparison: one scenario on two backends. Cheap first: what every consumer reads at the end of a step, bit
// for bit. Op by op under the shadow where that differs, or where the two sides do not compute alike, so that
// only a bound per op says anything. `check --against` and `replay --shadow` ask these questions. The shadow
// is made by the caller (backends/shadow), because properties know no backend.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/contract/finding.h"
#include "core/shadow.h"
#include "properties/property.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Comparison {
  std::optional<Finding> first;                ///< the first op that differs
  std::optional<ShadowDifference> difference;  ///< the same with its operands
  std::vector<Finding> others;                 ///< later ones, when the shadow resyncs and goes on
  double budget_used = 0;                      ///< largest share of a bound that held
  std::int64_t ops_compared = 0, ops_bounded = 0, ops_unjudged = 0, elements_compared = 0;
};

/// Runs the scenario, with its fault, op by op under the shadow. The finding is of F66 where a GEMM is not
/// what the profile that both sides declare says, of W39 otherwise.
Comparison compare_op_by_op(const Scenario& scenario, Poison poison, Shadow& shadow);

struct ComparedPair {
  Backend& reference;
  Backend& candidate;
};

/// True when both sides declare the same arithmetic: one known profile and one order of additions. Only then
/// do finished gradients have to agree bit for bit.
bool compute_alike(const ComparedPair& pair);

/// Runs the scenario on both, as fast as they go, and compares the gradients that consumers read at the end
/// of each step: a finding of W39 for each parameter and step that differs, at its first element. Asserts
/// compute_alike.
std::vector<Finding> compare_finished(const Scenario& scenario, Poison poison, const ComparedPair& pair);

/// What `check --against` asks of a case: compare_finished, and where that differs compare_op_by_op, whose
/// finding comes first. Where the sides do not compute alike, compare_op_by_op alone. Finished gradients that
/// differ although no op does under the shadow are a finding too: the shadow serialises streams.
std::vector<Finding> compare_backends(const Scenario& scenario, Poison poison, Shadow& shadow);

/// What the property finds. On a shadow: what it finds on the candidate and, where that is nothing, whether
/// both sides agree. On a joint backend (core/joint.h): what any process finds.
std::vector<Finding> ask(const Property& property, Backend& backend, const Scenario& scenario);

}  // namespace shardcheck
