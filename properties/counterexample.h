// Counterexample: what a property fails on, whatever its cases are; kept, mailed and replayed as one small
// JSON value. Next: runner.h, which finds and shrinks them.
#pragma once

#include <string>

#include "properties/case.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Counterexample {
  const CaseKind* kind = nullptr;  ///< null: a training step
  Scenario scenario;               ///< of a training step
  std::string json;                ///< of another kind

  bool operator==(const Counterexample&) const = default;
};

inline Counterexample counterexample_of(const Scenario& scenario) {
  return {.scenario = scenario};
}

/// Readable JSON that ends with a newline; counterexample_from_json reads it back.
std::string to_json(const Counterexample& counterexample);

/// A case of the kind that the field "kind" names, or a scenario where there is none. Throws Error(bad_input)
/// with sentences that begin with `where`.
Counterexample counterexample_from_json(const std::string& text, const std::string& where);

/// In one paragraph, for people.
std::string describe(const Counterexample& counterexample);

}  // namespace shardcheck
