// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ReductionFaults, RewriteThePlan) {
  expect_rewrites(add_reduction_faults, {
                                            {"B-25", ""},
                                            {"B-32", ""},
                                            {"B-37", ""},
                                            {"B-42", ""},
                                            {"B-45", ""},
                                            {"B-53", ""},
                                            {"K10", ""},
                                            {"K17", ""},
                                            {"M-W23", ""},
                                        });
}

}  // namespace
}  // namespace shardcheck::tests
