// What each fault of this kind takes from the plan and brings into it, on two outer groups of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(OuterFaults, RewriteThePlan) {
  expect_rewrites(add_outer_faults, {
                                        {"B-30", ""},
                                        {"B-41", ""},
                                        {"B-42b", ""},
                                        {"M-W29", ""},
                                    });
}

}  // namespace
}  // namespace shardcheck::tests
