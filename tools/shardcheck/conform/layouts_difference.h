// The first place where two JSON values differ, as a sentence.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace shardcheck::conform {

/// A recorded output and the recomputed one.
struct OutputPair {
  const nlohmann::json& recorded;
  const nlohmann::json& recomputed;
};

/// For example "output.buffers[0].size: recorded 5, recomputed 6"; nothing when they are equal. Members are
/// taken in alphabetical order; recursion is as deep as the recomputed value.
std::optional<std::string> first_difference(const OutputPair& output);

}  // namespace shardcheck::conform
