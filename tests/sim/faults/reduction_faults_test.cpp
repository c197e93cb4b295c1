// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ReductionFaults, RewriteThePlan) {
  expect_rewrites(add_reduction_faults, {
                                            {"B-25", ""},
                                            {"B-32", "-2 wait@r "},
                                            {"B-37", "+1 AR +1 AR@r "},
                                            {"B-42", "-1 AR -1 AR@r "},
                                            {"B-45", ""},
                                            {"B-53", ""},
                                            {"K10", "-1 unstage -1 unstage@r "},
                                            {"K17", "+1 AR +1 AR@r "},
                                            {"M-W23", "-2 wait "},
                                        });
}

}  // namespace
}  // namespace shardcheck::tests
