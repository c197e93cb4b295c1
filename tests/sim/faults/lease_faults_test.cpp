// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(LeaseFaults, RewriteThePlan) {
  expect_rewrites(add_lease_faults, {
                                        {"B-07", ""},
                                        {"B-10", ""},
                                        {"B-28", ""},
                                        {"B-34", ""},
                                        {"B-36", ""},
                                        {"B-43", ""},
                                        {"B-44", ""},
                                        {"B-54", ""},
                                        {"B-58", ""},
                                        {"M-W19", ""},
                                        {"M-W3", ""},
                                        {"M-W6", ""},
                                    });
}

}  // namespace
}  // namespace shardcheck::tests
