// Situations: the named corners that a search must have been in before it may say that all held. Counted by
// properties/runner.h for every case.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "properties/property.h"
#include "sim/owners/geometry.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Situation {
  std::string_view name;  ///< "empty shard"
  bool (*is_reached)(const Scenario& scenario, const Geometry& geometry);
  /// The foci of the properties that must reach it; Focus::any reaches all
  /// but those of FP8 weights alone.
  std::vector<Focus> required_by;
};

const std::vector<Situation>& situations();

bool is_required(const Situation& situation, Focus focus);

}  // namespace shardcheck
