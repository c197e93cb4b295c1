// A scenario that the user names: a file, or an example of sim/scenario/examples.h.
#pragma once

#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// The scenario in the file of that path. Its fault, if it names one, is in the zoo. Throws Error(bad_input).
Scenario scenario_in(const std::string& path);

/// The same, or the example of that name where there is no such file.
Scenario scenario_named(const std::string& name);

}  // namespace shardcheck
