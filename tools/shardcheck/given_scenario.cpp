#include "tools/shardcheck/given_scenario.h"

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/examples.h"
#include "sim/scenario/json_text.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck {

Counterexample case_in(const std::string& path) {
  Counterexample given = counterexample_from_json(read_text(path, kMaxJsonBytes), path);
  const std::string& fault = given.scenario.fault;
  if (fault.empty() || find_fault(fault) != nullptr) return given;
  std::vector<std::string> known;
  for (const Fault& fault : zoo()) known.emplace_back(fault.id);
  throw bad_input(path,
                  "fault: " + unknown_name({fault, "fault", std::move(known), "shardcheck list faults"}));
}

Counterexample case_named(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return case_in(name);
  if (const auto scenario = example(name)) return counterexample_of(*scenario);
  throw bad_input("--scenario", "no such file, and " + unknown_name({name, "example", example_names(),
                                                                     "shardcheck list scenarios"}));
}

}  // namespace shardcheck
