// Loop relations: a training loop beside the same loop without what must not matter: recomputation, steps
// that are given up, processes that end, the time of reductions, parameters that stand by (wgrad 10.3 MR8,
// MR11 to MR13). Both sides carry the fault of the scenario.
#pragma once

#include "properties/property.h"

namespace shardcheck {

/// W37: no unit recomputed, the consumer reads the same bits.
std::vector<Finding> recompute_neutrality(Backend& backend, const Scenario& scenario);

/// W40: no step given up and no process ended, every step that comes to its end does the same to the same
/// bytes and leaves the same bits.
std::vector<Finding> clean_reset(Backend& backend, const Scenario& scenario);

/// W31: reductions in every microbatch or in the last (fsdp2, where sums are exact), in backward or at the
/// end of the step, the consumer reads the same bits.
std::vector<Finding> reduction_time(Backend& backend, const Scenario& scenario);

/// W7, W10: one more parameter that is frozen and used, or trained and used by nobody, breaks nothing; the
/// frozen one changes no bit.
std::vector<Finding> bystanders(Backend& backend, const Scenario& scenario);

}  // namespace shardcheck
