// What each fault of delayed scaling takes from the plan and brings into it, and that the plan shows it.
#include <gtest/gtest.h>

#include "tests/sim/faults/weight_life.h"

namespace shardcheck::tests {
namespace {

TEST(DelayedScaleFaults, RewriteThePlan) {
  expect_rewrites(add_delayed_scale_faults, {
                                                {"M-F53", "-1 weights= "},
                                                {"M-F54", "+12 close-step "},
                                                {"M-F55", "+4 amax "},
                                                {"Q41", "+2 max "},
                                                {"Q42", ""},
                                            });
}

TEST(DelayedScaleFaults, ShowOnThePlan) {
  expect_shown_by_plan(add_delayed_scale_faults);
}

}  // namespace
}  // namespace shardcheck::tests
