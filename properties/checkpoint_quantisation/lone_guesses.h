// Guesses without a source: all that codes and scales say of themselves. A scale of a power of two that was
// changed afterwards cannot be seen this way, because a block's codes fit every one of them. Next:
// explanation.h.
#pragma once

#include "properties/checkpoint_quantisation/evidence.h"

namespace shardcheck::verify {

/// All that explain the specimen, the likeliest first.
std::vector<Guess> lone_guesses(const Evidence& evidence, const Specimen& specimen);

}  // namespace shardcheck::verify
