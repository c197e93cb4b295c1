// Guesses at a wrong scale, with a source: which other scale is stored, or made the codes, or both. Next:
// code_guesses.h, where the scale is right.
#pragma once

#include "properties/checkpoint_quantisation/evidence.h"

namespace shardcheck::verify {

/// All that explain every code and the scale of the specimen, the likeliest first.
std::vector<Guess> scale_guesses(const Evidence& evidence, const Specimen& specimen);

}  // namespace shardcheck::verify
