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
};

/// The known names that the word may stand for, best first, at most three: few edits away, or begun or
/// contained by it.
std::vector<std::string> nearest(const UnknownName& name);

/// "\"legal-bata\" is not a property; did you mean \"legal-beta\"?", with all known names where none is near
/// and they are few.
std::string unknown_name(const UnknownName& name);

}  // namespace shardcheck
