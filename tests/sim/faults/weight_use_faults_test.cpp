// What each fault of the use of FP8 weights takes from the plan and brings into it, and that the plan shows
// it.
#include <gtest/gtest.h>

#include "tests/sim/faults/weight_life.h"

namespace shardcheck::tests {
namespace {

TEST(WeightUseFaults, RewriteThePlan) {
  expect_rewrites(add_weight_use_faults, {
                                             {"M-F50b", "-1 AG@r -8 undefine -4 weights= "},
                                             {"M-F50c", "+4 undefine "},
                                             {"Q18", ""},
                                             {"Q37", "-2 derive "},
                                             {"Q38", "-1 derive "},
                                             {"Q39", "+1 undefine "},
                                             {"Q40", "-8 undefine "},
                                             {"Q44", "-1 weights= "},
                                             {"Q57", "+4 weights= "},
                                         });
}

TEST(WeightUseFaults, ShowOnThePlan) {
  expect_shown_by_plan(add_weight_use_faults);
}

}  // namespace
}  // namespace shardcheck::tests
