// All entries of all zoos under the names that `zoo` takes: rewrites of plans, which random scenarios are
// searched with, and faults of layouts and of FP8, each of which comes with the case that shows it. Next:
// zoo.cpp, which hunts them.
//
// Rows of the fault catalogue (fp8 7): those of a life cycle are rewrites of plans, named by their number
// alone. No entry are Q33, which is Q31 in another system's code; Q52, which needs an FP8 output, and no op
// of a plan has one; and of Q46 the correlated streams, which need a recipe that draws.
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
