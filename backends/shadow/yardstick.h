// Which yardstick an op's results are held to: bit for bit wherever both sides declare the same arithmetic,
// else within an a-priori bound (architecture 3). Read next: error_bounds.h, the bound.
#pragma once

#include <cstdint>

#include "core/backend.h"

namespace shardcheck::shadowing {

enum class Yardstick : std::uint8_t {
  none,      ///< the op leaves nothing that anybody promised
  bits,      ///< the same codes; every NaN is the same
  bounds,    ///< element by element within the bound of both sides
  unjudged,  ///< no bound is known: the candidate gets the reference's bytes, and the report counts the op
};

/// What the two sides say of themselves.
struct Sides {
  BackendInfo reference, candidate;
};

/// A Gemm is compared by bits when both sides declare the same profile and it is not "unknown", or when it
/// has no tokens; a Matmul likewise, but without a profile it is unjudged: its scales have no bound here yet.
/// A reduction, when the folds of both sides give every group the same known order of additions. All else is
/// exact by its definition.
Yardstick yardstick_of(const Plan& plan, const Op& op, const Sides& sides);

}  // namespace shardcheck::shadowing
