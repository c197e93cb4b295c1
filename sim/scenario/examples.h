// Examples: scenarios with the shapes of real models, small enough for one machine. They are the files of
// examples/, embedded in the library, so that an installed command has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Names in alphabetical order.
std::vector<std::string> example_names();

/// The valid scenario of that name, or nothing.
std::optional<Scenario> example(const std::string& name);

}  // namespace shardcheck
