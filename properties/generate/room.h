// Room: how a scenario gets provenance data. Digits need exact scales, and shapes that hold one digit for
// each contribution.
#pragma once

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Adds tokens to one microbatch until the tokens of a step are a power of two, so that dividing by them is
/// exact.
void make_tokens_exact(Scenario& scenario);

/// True when every scale of the scenario is a power of two: results compare bit for bit, digits decode.
bool has_exact_scale(const Scenario& scenario);

/// Lengthens one side of each parameter that is too small for its provenance digits, by `spare` more than is
/// needed. False, with some shapes changed, when one would become large.
bool make_room(Scenario& scenario, std::int64_t spare);

/// True when no parameter is too small for its provenance digits.
bool has_room(const Scenario& scenario);

}  // namespace shardcheck
