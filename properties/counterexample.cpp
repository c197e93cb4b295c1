#include "properties/counterexample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/error.h"
#include "properties/property.h"
#include "sim/scenario/json.h"
#include "sim/scenario/json_text.h"

namespace shardcheck {
namespace {

/// The field "kind" of a JSON object, or nothing: what else is wrong with the text, its reader says.
std::string kind_in(const std::string& text, const std::string& where) {
  check_json_text(text, where);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string()) return "";
  return json["kind"].get<std::string>();
}

}  // namespace

std::string to_json(const Counterexample& counterexample) {
  return counterexample.kind == nullptr ? to_json(counterexample.scenario) : counterexample.json;
}

Counterexample counterexample_from_json(const std::string& text, const std::string& where) {
  const std::string kind = kind_in(text, where);
  if (kind.empty()) return counterexample_of(scenario_from_json(text, where));
  std::set<std::string_view> known;
  for (const Property& property : properties()) {
    if (property.kind == nullptr) continue;
    if (property.kind->name == kind) {
      const std::unique_ptr<Case> c = property.kind->read(text, where);
      return {.kind = property.kind, .json = c->json()};
    }
    known.insert(property.kind->name);
  }
  throw bad_input(where,
                  fmt::format("kind: \"{}\" is no kind of case; there are {}, and scenarios, which have "
                              "no such field",
                              kind, fmt::join(known, ", ")));
}

std::string describe(const Counterexample& counterexample) {
  if (counterexample.kind == nullptr) return describe(counterexample.scenario);
  return counterexample.kind->read(counterexample.json, "kept case")->describe();
}

}  // namespace shardcheck
