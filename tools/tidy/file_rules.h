// Rules about files as a whole: their length, name, place and neighbours.
#pragma once

#include "tools/tidy/rules.h"

namespace shardcheck::tidy {

Offences long_files(const Tree& tree);
Offences sources_without_header(const Tree& tree);
Offences unlisted_sources(const Tree& tree);
Offences vague_names(const Tree& tree);
Offences unknown_top_entries(const Tree& tree);

}  // namespace shardcheck::tidy
