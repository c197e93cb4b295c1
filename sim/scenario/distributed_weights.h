// What a scenario may say of GTP distributed weights (wgrad 4.1, Q11): a producer of their own reduces their
// gradients over the ranks that share them, before the owner reduces over the others.
#pragma once

#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Throws bad_input for the first rule that mesh.gtp or a distributed weight breaks; `where` as in
/// validate().
void validate_distributed(const Scenario& scenario, const std::string& where);

}  // namespace shardcheck
