// What each fault on the way from masters to codes takes from the plan and brings into it, and that the plan
// shows it, first of all, before anything runs.
#include <gtest/gtest.h>

#include "tests/sim/faults/weight_life.h"

namespace shardcheck::tests {
namespace {

TEST(WeightFaults, RewriteThePlan) {
  expect_rewrites(add_weight_faults, {
                                         {"M-F45", "+4 max "},
                                         {"M-F46", "-2 wait@r "},
                                         {"M-F46b", "-1 wait "},
                                         {"M-F46c", "-8 wait "},
                                         {"M-F47", ""},
                                         {"M-F50", "-1 amax -1 cast8 -1 scales "},
                                         {"M-F51", "+1 cast8 "},
                                         {"Q28", "-2 max "},
                                         {"Q29", ""},
                                         {"Q30", "+4 undefine "},
                                         {"Q31", "+2 max "},
                                         {"Q34", ""},
                                         {"Q36", ""},
                                         {"Q43", "+1 cast8 "},
                                         {"Q45", "-1 setup= +1 decode8 "},
                                         {"Q54", ""},
                                     });
}

TEST(WeightFaults, ShowOnThePlan) {
  expect_shown_by_plan(add_weight_faults);
}

}  // namespace
}  // namespace shardcheck::tests
