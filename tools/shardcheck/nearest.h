// Nearest: for a misspelt name, the known names that were probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardcheck {

struct UnknownName {
  std::string word;       ///< as it was given
  std::string_view kind;  ///< "property"
  std::vector<std::string> known;
  std::string all;  ///< the command that lists them: "shardcheck list properties"; or empty
};

/// The known names that the word may stand for, best first, at most three: few edits away, or begun or
/// contained by it.
std::vector<std::string> nearest(const UnknownName& name);

/// "\"legal-bata\" is not a known property; did you mean \"legal-beta\"? `shardcheck list properties` lists
/// them". Where none is near and they are few, all known names.
std::string unknown_name(const UnknownName& name);

}  // namespace shardcheck
