// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ScaleFaults, RewriteThePlan) {
  expect_rewrites(add_scale_faults, {
                                        {"B-33", ""},
                                        {"B-35", "+2 scale "},
                                        {"B-39", ""},
                                        {"B-40", "-1 scale -1 scale@r "},
                                        {"B-46", ""},
                                        {"K09", "-1 scale -1 scale@r "},
                                        {"M-W24", "+1 scale +1 scale@r "},
                                    });
}

}  // namespace
}  // namespace shardcheck::tests
