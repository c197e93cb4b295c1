// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(LoopFaults, RewriteThePlan) {
  expect_rewrites(add_loop_faults, {});
}

}  // namespace
}  // namespace shardcheck::tests
