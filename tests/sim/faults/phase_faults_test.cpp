// What each fault of this kind takes from the plan and brings into it, in two steps of one bucket.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(PhaseFaults, RewriteThePlan) {
  expect_rewrites(add_phase_faults, {
                                        {"B-55", "-2 zero "},
                                        {"B-55b", "-2 weights= "},
                                        {"M-W36", ""},
                                    });
}

}  // namespace
}  // namespace shardcheck::tests
