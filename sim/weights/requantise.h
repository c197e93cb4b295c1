// From high precision to codes: at creation out of the initial values (fp8 4.8, E1 to E3), and after an
// optimizer step out of the own pieces of the masters, as if the whole weight were on one rank (fp8 4.2 steps
// 1 to 7, E5). Next: gathers.h makes the codes whole.
#pragma once

#include "sim/weights/weight_store.h"

namespace shardcheck {

/// Codes of every weight on every rank, then masters of the own pieces; the initial values are undefined
/// after.
void create_weights(Job& job, const WeightStore& store);

/// New codes in the own pieces and new scales on every rank.
void requantise_weights(Job& job, const WeightStore& store);

}  // namespace shardcheck
