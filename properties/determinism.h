// Declared determinism (W39): the rows of wgrad 8.8 that say bit-exact, each as two runs of which consumers
// must read the same bits, or as replicas of one. What other properties ask is left to them: poison (W3), the
// time of reductions (W31), resumes (W40). Sums of the scenario's exact data are the same in every order, so
// all but the first examination run on reals (ScenarioData::use_reals).
#pragma once

#include <optional>
#include <vector>

#include "properties/property.h"

namespace shardcheck {

/// W39. Ranks that hold the same sum agree; a second run, op by op, repeats the
/// bits; so do delayed and graph execution those of eager, where every destination is written in one order;
/// so do scales by a power of two before, in and after the reduction. With the data of one rank on all of
/// them, an average over two or four is what that rank has alone. All sides carry the fault of the scenario.
std::vector<Finding> determinism(Backend& backend, const Scenario& scenario);

/// Of delayed or graph execution: the scenario executed eagerly, where both write every destination in the
/// same order, by their plans without faults. Nothing elsewhere.
std::optional<Scenario> executed_eagerly(const Scenario& scenario);

/// The scenario with the scale in another place where it is a power of two and nothing underflows; nothing
/// elsewhere.
std::optional<Scenario> scaled_otherwise(const Scenario& scenario, Scaling scaling);

struct AlikeRanks {
  Scenario many;  ///< every rank has the silences and tokens of the first
  Scenario one;   ///< that rank alone
};
/// Where an average over identical ranks is exact. Sums of two or four equal addends are, in every order; of
/// eight they are not: ((((x + x) + x) + x) + x) rounds.
std::optional<AlikeRanks> alike_ranks(const Scenario& scenario);

}  // namespace shardcheck
