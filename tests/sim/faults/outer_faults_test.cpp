// What each fault of this kind takes from the plan and brings into it, on two outer groups of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(OuterFaults, RewriteThePlan) {
  expect_rewrites(add_outer_faults, {
                                        {"B-30", "-4 scale@r "},
                                        {"B-41", "-2 acc+@r +2 RS@r +2 acc=@r "},
                                        {"B-42b", "-2 AR@r "},
                                        {"B-47", ""},
                                        {"M-W29", "+2 AR@r "},
                                    });
}

}  // namespace
}  // namespace shardcheck::tests
