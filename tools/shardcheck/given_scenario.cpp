#include "tools/shardcheck/given_scenario.h"

#include <filesystem>

#include "core/error.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/examples.h"
#include "sim/scenario/json.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck {

Scenario scenario_in(const std::string& path) {
  Scenario scenario = read_scenario(path);
  if (scenario.fault.empty() || find_fault(scenario.fault) != nullptr) return scenario;
  std::vector<std::string> known;
  for (const Fault& fault : zoo()) known.emplace_back(fault.id);
  throw bad_input(
      path, "fault: " + unknown_name({scenario.fault, "fault", std::move(known), "shardcheck list faults"}));
}

Scenario scenario_named(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return scenario_in(name);
  if (auto scenario = example(name)) return *std::move(scenario);
  throw bad_input("--scenario", "no such file, and " + unknown_name({name, "example", example_names(),
                                                                     "shardcheck list scenarios"}));
}

}  // namespace shardcheck
