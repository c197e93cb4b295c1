// The JSON files of examples/ as text inside the library. CMake writes the source file from them.
#pragma once

#include <span>
#include <string_view>

namespace shardcheck {

struct EmbeddedExample {
  std::string_view name;  ///< the file name without .json
  std::string_view json;
};

/// In alphabetical order of the names.
std::span<const EmbeddedExample> embedded_examples();

}  // namespace shardcheck
