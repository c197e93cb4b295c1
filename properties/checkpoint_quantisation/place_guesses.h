// Guesses at right codes and scales in wrong places, with a source: transposed, shifted, padded rows, those
// of a neighbour. Only where the whole tensor fits memory. Next: lone_guesses.h, without a source.
#pragma once

#include "properties/checkpoint_quantisation/evidence.h"

namespace shardcheck::verify {

/// All that explain every code and the scale of the specimen, the likeliest first.
std::vector<Guess> place_guesses(const Evidence& evidence, const Specimen& specimen);

}  // namespace shardcheck::verify
