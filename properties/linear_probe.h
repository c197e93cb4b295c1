// Linear probing of a simulated owner (wgrad 10.1): a protocol whose control flow does not look at gradients
// is linear in the contributions, so one run with none of them and one with each alone give the garbage term
// and the weight (multiplicity times scale) of every contribution in everything that a consumer reads. Digits
// say how often up to 3; weights say it for any factor, as 2^M of an alias that doubles.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/scenario/data.h"

namespace shardcheck {

/// A contribution of 1 in every element, as one rank reads it at the end of one step.
struct SimulatedWeight {
  ContributionKey key;
  std::int32_t reader = 0, step = 0;
  double weight = 0, right = 0;  ///< right: the scale, or 0 for other steps and other experts
  bool is_one_number = true;     ///< false: the reader's elements do not agree
};

struct ProbedParameter {
  std::int32_t parameter = 0;
  std::int64_t contributions = 0;
  double scale = 0;                    ///< the one right weight
  std::vector<SimulatedWeight> wrong;  ///< in the order of the runs
  std::vector<std::string> patterns;   ///< recognised in them (properties/diagnosis/signatures.h)
};

struct LinearProbe {
  std::int64_t runs = 0;
  std::vector<ProbedParameter> parameters;  ///< trainable ones with uses and elements
  std::vector<Finding> findings;  ///< one a parameter: W2, W24 or W3, with the wrong weights in words
};

/// More runs than this would take minutes; such a scenario is refused.
inline constexpr std::int64_t kMostProbes = 20'000;

/// Runs of the scenario that its probe needs.
std::int64_t probes_of(const Scenario& scenario);

/// Plans the scenario, with its fault, and runs it once for each contribution and once with none. Exact where
/// the scales are, else within the bound of the oracle.
LinearProbe probe(Backend& backend, const Scenario& scenario);

/// "microbatch 0 of rank 1, use 2 (step 0) has weight 2 in step 1 on rank 0, where 1/4 is right".
std::string to_text(const SimulatedWeight& weight, std::int32_t uses);

}  // namespace shardcheck
