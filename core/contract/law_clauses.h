// The part of the catalogue that is not about gradients: laws of layouts, of sharded
// quantisation and of products. Next: clauses.h.
#pragma once

#include <span>

#include "core/contract/clauses.h"

namespace shardcheck {

/// L1 to L30, then F3 to F34 as far as they are judged, then F40 to F49, then F66.
std::span<const Clause> law_clauses();

}  // namespace shardcheck
