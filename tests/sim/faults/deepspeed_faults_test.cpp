// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(DeepspeedFaults, RewriteThePlan) {
  expect_rewrites(add_deepspeed_faults, {
                                            {"B-36", "+1 acc+@r +1 acc=@r +2 undefine@r "},
                                            {"B-36b", "+1 acc=@r +1 undefine@r "},
                                            {"B-43b", "+2 RS-avg "},
                                        });
}

}  // namespace
}  // namespace shardcheck::tests
