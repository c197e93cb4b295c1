// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(DeepspeedFaults, RewriteThePlan) {
  expect_rewrites(add_deepspeed_faults, {});
}

}  // namespace
}  // namespace shardcheck::tests
