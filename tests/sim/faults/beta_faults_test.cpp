// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(BetaFaults, RewriteThePlan) {
  expect_rewrites(add_beta_faults, {
                                       {"B-03", ""},
                                       {"B-04", ""},
                                       {"B-05", ""},
                                       {"B-08", ""},
                                       {"B-09", ""},
                                       {"B-11", ""},
                                       {"B-12", ""},
                                       {"B-13", ""},
                                       {"B-14", ""},
                                       {"B-22", ""},
                                   });
}

}  // namespace
}  // namespace shardcheck::tests
