// What each fault of layers with several experts takes from the plan and brings into it, on two fused weights
// of two ranks and two microbatches.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(GroupedFaults, RewriteThePlan) {
  expect_rewrites(add_grouped_faults, {
                                          {"B-01", "-8 write0 +8 grad "},
                                          {"B-03", ""},
                                          {"B-10a", "-8 write1 +8 write0 "},
                                          {"B-13", "-2 write0 +2 undefine "},
                                          {"B-14", "-8 write1 "},
                                          {"B-15", "-4 drop -4 dummy -4 flag -8 write1 "},
                                          {"M-W2", ""},
                                          {"M-W11", "-4 write1 "},
                                          {"M-W17", "-4 write0 +4 write1 "},
                                      });
}

}  // namespace
}  // namespace shardcheck::tests
