// What the faults of captured graphs take from the plan and bring into it, on two fused weights of two ranks.
// The numbers that they make are in tests/sim/captured_examples_test.cpp.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(GraphFaults, RewriteThePlan) {
  expect_rewrites(add_graph_faults,
                  {
                      {"B-12", "-4 write1@g +4 write0@g "},
                      {"B-22", "-4 drop -4 dummy -4 flag +4 fold+ +4 grad@g +4 hook+ +4 real +4 wait "},
                      {"B-23", "-4 none= "},
                  });
}

}  // namespace
}  // namespace shardcheck::tests
