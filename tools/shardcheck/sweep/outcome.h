// Outcomes of a sweep: what every setting of the knobs does to the scenario, and which knob it hangs on.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "tools/shardcheck/sweep/knob.h"

namespace shardcheck {

struct Outcome {
  enum class Kind { held, broken, no_fault, invalid };
  Kind kind = Kind::held;
  std::vector<std::string> clauses;  ///< broken: each once, the first finding's first
  std::string sentence;              ///< of the first finding, or why there is no such scenario

  /// "W4", "W4 +1", "held", "no fault", "-".
  std::string text() const;
};

/// Plans and runs the scenario at that setting. `no_fault`: the scenario names a fault of the zoo, and at
/// this setting there is nothing that it could break.
Outcome outcome_of(const Scenario& scenario, const std::vector<Knob>& knobs, const Setting& setting,
                   Backend& backend);

/// One sentence a knob: whether it decides, and at which values. A setting that is no scenario does not
/// count.
std::vector<std::string> what_decides(const std::vector<Knob>& knobs, const std::vector<Setting>& settings,
                                      const std::vector<Outcome>& outcomes);

}  // namespace shardcheck
