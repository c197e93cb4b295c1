// A scenario as JSON: the form in which a failure is mailed, kept and replayed. Reading trusts nothing: every
// mistake of the text is a sentence with its JSON path. Next: validate.h, which judges the value itself.
#pragma once

#include <filesystem>
#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// The valid scenario that the text describes. `where` (a file name) begins every sentence. Fields other than
/// schema, owner.strategy, parameters and uses may be missing and have the defaults of scenario.h. Throws
/// bad_input when the text is not JSON, a field is unknown, missing, given twice or of another type, or
/// validate() refuses the value.
Scenario scenario_from_json(const std::string& text, const std::string& where);

/// The scenario as readable JSON that ends with a newline. What fits on a line stands on one; most fields at
/// their default are left out. scenario_from_json(to_json(s), ...) == s for every valid s.
std::string to_json(const Scenario& scenario);

/// scenario_from_json of a file's content. Throws bad_input when the file cannot be read.
Scenario read_scenario(const std::filesystem::path& path);

}  // namespace shardcheck
