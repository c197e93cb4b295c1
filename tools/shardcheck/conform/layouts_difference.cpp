#include "tools/shardcheck/conform/layouts_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardcheck::conform {
namespace {

using nlohmann::json;

std::string described(const json* value) {
  if (!value) return "nothing";
  if (value->is_array()) return fmt::format("an array of {}", value->size());
  if (value->is_object()) return fmt::format("an object of {} fields", value->size());
  return value->dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string sentence(const std::string& path, const json* recorded, const json* recomputed) {
  return fmt::format("{}: expected {}, recomputed {}", path, described(recorded), described(recomputed));
}

/// The first difference below `path`; either value may be absent.
std::optional<std::string> below(const std::string& path, const json* recorded, const json* recomputed);

std::optional<std::string> in_array(const std::string& path, const json& recorded, const json& recomputed) {
  for (std::size_t i = 0; i < std::max(recorded.size(), recomputed.size()); ++i) {
    const json* a = i < recorded.size() ? &recorded[i] : nullptr;
    const json* b = i < recomputed.size() ? &recomputed[i] : nullptr;
    // Equal integers are nearly everything, and building their paths would be nearly all the work.
    if (a && b && a->is_number_integer() && b->is_number_integer() && *a == *b) continue;
    if (auto found = below(fmt::format("{}[{}]", path, i), a, b)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> in_object(const std::string& path, const json& recorded, const json& recomputed) {
  for (const auto& [name, value] : recorded.items()) {
    const auto other = recomputed.find(name);
    if (auto found = below(path + "." + name, &value, other == recomputed.end() ? nullptr : &*other))
      return found;
  }
  for (const auto& [name, value] : recomputed.items()) {
    if (!recorded.contains(name)) return sentence(path + "." + name, nullptr, &value);
  }
  return std::nullopt;
}

std::optional<std::string> below(const std::string& path, const json* recorded, const json* recomputed) {
  if (!recorded || !recomputed) return sentence(path, recorded, recomputed);
  if (recorded->is_array() && recomputed->is_array()) return in_array(path, *recorded, *recomputed);
  if (recorded->is_object() && recomputed->is_object()) return in_object(path, *recorded, *recomputed);
  // A number that is no integer is never equal: 5.0 is not what a layout returns.
  const bool same_kind = recorded->is_number_float() == recomputed->is_number_float();
  if (same_kind && *recorded == *recomputed) return std::nullopt;
  return sentence(path, recorded, recomputed);
}

}  // namespace

std::optional<std::string> first_difference(const OutputPair& output) {
  return below("output", &output.recorded, &output.recomputed);
}

}  // namespace shardcheck::conform
