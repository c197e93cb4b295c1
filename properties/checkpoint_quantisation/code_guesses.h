// Guesses at wrong codes under a right scale, with a source: another rounding, another policy, another
// format, a source that was rounded first, codes from elsewhere. Next: place_guesses.h.
#pragma once

#include "properties/checkpoint_quantisation/evidence.h"

namespace shardcheck::verify {

/// All that explain every code and the scale of the specimen, the likeliest first.
std::vector<Guess> code_guesses(const Evidence& evidence, const Specimen& specimen);

/// What is left to say where no guess explains a specimen: damaged bytes, another version. Nothing where even
/// that does not fit.
std::vector<Guess> last_guesses(const Evidence& evidence, const Specimen& specimen);

}  // namespace shardcheck::verify
