// A case of the layout laws as JSON and back. Fields at their default are left out. Next: layout_case.h.
#pragma once

#include <string>

#include "properties/layout_laws/judge.h"

namespace shardcheck::laws {

/// {"kind": "layout", "layout", "parameters": [{"name", "shape", ...}], "mesh": [{"name", "size", "use"}],
/// "configuration": {...}, "moved_to": {"layout", "mesh", "configuration"}, "choice"}; or {"kind": "layout",
/// "fault"}, for a fault brings its model. Ends with a newline.
std::string to_json(const Case& c);

/// What a configuration says beside the defaults, on one line: "block_rows 4, units [1,0]".
std::string to_text(const layout::Configuration& configuration);

/// Throws Error(bad_input), with sentences that begin with `where` and the path of the field, when the text
/// is no such JSON, a field is unknown, missing, of another type or out of range.
Case case_from_json(const std::string& text, const std::string& where);

}  // namespace shardcheck::laws
