// Rules that read one line at a time: its length and the words and paths on it.
#pragma once

#include "tools/tidy/rules.h"

namespace shardcheck::tidy {

Offences long_lines(const Tree& tree);
Offences using_namespace_in_headers(const Tree& tree);
Offences tolerances(const Tree& tree);
Offences machine_paths(const Tree& tree);

}  // namespace shardcheck::tidy
