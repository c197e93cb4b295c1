// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(BetaFaults, RewriteThePlan) {
  expect_rewrites(add_beta_faults, {
                                       {"B-04", "-2 write1 +2 write0 "},
                                       {"B-05", "-4 write1 +4 write0 "},
                                       {"B-08", "-8 write1 +8 write0 "},
                                       {"B-09", "-4 write1 +4 write0 "},
                                       {"B-11", "-4 write0 +4 write1 "},
                                   });
}

}  // namespace
}  // namespace shardcheck::tests
