// What each fault of this kind takes from the plan and brings into it, on two stages of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(FinalizeFaults, RewriteThePlan) {
  expect_rewrites(add_finalize_faults, {
                                           {"B-26", ""},
                                           {"K18", ""},
                                           {"M-W32a", ""},
                                           {"M-W32b", ""},
                                           {"M-W32c", ""},
                                           {"M-W32d", ""},
                                           {"M-W32e", ""},
                                           {"M-W32f", ""},
                                       });
}

}  // namespace
}  // namespace shardcheck::tests
