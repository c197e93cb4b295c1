// Replaying: one scenario through properties, without a search and without shrinking.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/property.h"
#include "tools/shardcheck/backend_choice.h"

namespace shardcheck {

/// What the scenario breaks, each breach once although several properties may see it.
std::vector<Finding> findings_of(std::span<const Property* const> properties, const Scenario& scenario,
                                 Backend& backend);

/// The same breach, however it was found.
bool is_same_breach(const Finding& a, const Finding& b);

/// "shardcheck replay FILE --backend cuda".
std::string reproduce_text(const std::string& file, const BackendChoice& choice);

}  // namespace shardcheck
