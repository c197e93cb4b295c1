#include "sim/scenario/examples.h"

#include "sim/scenario/embedded.h"
#include "sim/scenario/json.h"

namespace shardcheck {

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const EmbeddedExample& embedded : embedded_examples()) names.emplace_back(embedded.name);
  return names;
}

std::optional<Scenario> example(const std::string& name) {
  for (const EmbeddedExample& embedded : embedded_examples()) {
    if (embedded.name == name)
      return scenario_from_json(std::string(embedded.json), "example " + std::string(embedded.name));
  }
  return std::nullopt;
}

}  // namespace shardcheck
