// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(HookFaults, RewriteThePlan) {
  expect_rewrites(add_hook_faults, {
                                       {"B-02", ""},
                                       {"B-18", ""},
                                       {"B-20a", ""},
                                       {"B-20b", ""},
                                       {"B-21", ""},
                                       {"B-24", ""},
                                       {"M-W10", ""},
                                   });
}

}  // namespace
}  // namespace shardcheck::tests
