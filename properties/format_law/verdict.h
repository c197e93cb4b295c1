// What one law of formats says: nothing, or the sentence of the first number that breaks it. For the files of
// this folder.
#pragma once

#include <optional>
#include <string>

namespace shardcheck {

using FormatVerdict = std::optional<std::string>;

}  // namespace shardcheck
