// All entries of all zoos under the names that `zoo` takes: rewrites of plans, which random scenarios are
// searched with, and faults of layouts and of FP8, each of which comes with the case that shows it. Next:
// zoo.cpp, which hunts them.
//
// Rows of the fault catalogue (fp8 7) that are no entry, and why: Q33, Q37, Q39 to Q45 and Q54 are of a life
// cycle and its collectives, which other laws judge; Q52 needs an FP8 output, which no op of a plan has; of
// Q46 the correlated streams need a recipe that draws.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case.h"
#include "properties/property.h"
#include "sim/faults/zoo.h"

namespace shardcheck {

struct Bug {
  std::string id;        ///< "B-04", "layout/B15", "scale/Q11"
  std::string source;    ///< where it was seen
  std::string sentence;  ///< what goes wrong
  std::string clause;    ///< that must catch it
  const Fault* of_plans = nullptr;
  // Of a fault that comes with its case:
  const Property* property = nullptr;               ///< that judges it
  std::function<std::unique_ptr<Case>()> own_case;  ///< the case, with the fault in it
  std::string size;                                 ///< of the case, in a few words
};

/// In the order of the zoos.
std::vector<Bug> all_bugs();

/// Prefixes of the zoos of FP8: "cast/", "format/", "product/", "quantisation/", "recipe/", "scale/".
bool is_of_fp8(const Bug& bug);

}  // namespace shardcheck
