// A case that the user names: a file, or an example of sim/scenario/examples.h.
#pragma once

#include <string>

#include "properties/counterexample.h"

namespace shardcheck {

/// The case in the file of that path: a scenario, whose fault, if it names one, is in the zoo, or a kept case
/// of another kind. Throws Error(bad_input).
Counterexample case_in(const std::string& path);

/// The same, or the example of that name where there is no such file.
Counterexample case_named(const std::string& name);

}  // namespace shardcheck
