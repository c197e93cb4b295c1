// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(HookFaults, RewriteThePlan) {
  expect_rewrites(add_hook_faults, {
  });
}

}  // namespace
}  // namespace shardcheck::tests
