// Knobs: the fields of a scenario that a sweep turns, and the values that each takes. A knob is named as in
// the scenario's JSON, by its last word or its whole path; a scenario is turned as JSON and read back, so
// that every value is judged by the sentences that a file would get.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Knob {
  std::string name;                 ///< as the user wrote it: "ranks", "owner.strategy"
  std::string pointer;              ///< JSON pointer: "/owner/strategy"
  std::vector<std::string> values;  ///< as JSON: "4", "true", "\"megatron_ddp\""
};

/// "ranks=1..8", "strategy=all", "microbatches=1", "2", "4": a word without '=' is one more value of the knob
/// before it. Throws Error(bad_input) and names the nearest known fields.
std::vector<Knob> knobs_of(const std::vector<std::string>& words);

/// Which value of every knob.
using Setting = std::vector<std::size_t>;

/// All settings, the last knob turning fastest. Throws Error(bad_input) where there are more than 20,000.
std::vector<Setting> settings_of(const std::vector<Knob>& knobs);

/// The scenario with the knobs at that setting. Throws Error(bad_input) where that is no valid scenario.
Scenario turned(const Scenario& scenario, const std::vector<Knob>& knobs, const Setting& setting);

/// A value as people read it: without quotes.
std::string shown(const std::string& value);

}  // namespace shardcheck
