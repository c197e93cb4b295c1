// Linear probing (wgrad 10.1): the result is linear in the contributions, so N + 1 runs, one with none and
// one with each by itself, give the garbage and the weight (multiplicity times scale) of every contribution.
#pragma once

#include <vector>

#include "properties/audit/values.h"

namespace shardcheck {

/// The weight with which a contribution enters what a rank reads.
struct ProbedWeight {
  std::int32_t reader = 0;  ///< the rank that owns the elements
  ContributionKey key;
  double weight = 0, right = 0;
  bool is_one_number = true;  ///< false: other elements show another weight, or foreign bytes
};

/// Weights of every probed contribution on every rank that owns elements in which it shows.
std::vector<ProbedWeight> probed_weights(const AuditTrace& trace, const ValueJudge& values);

/// One for each parameter with a wrong weight: W24 with all of them in words; W3 where something is left when
/// no contribution is there.
std::vector<WrongGradient> judge_probes(const AuditTrace& trace, const ValueJudge& values);

}  // namespace shardcheck
