// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(HookFaults, RewriteThePlan) {
  expect_rewrites(add_hook_faults, {
                                       {"B-02", "-4 dummy +4 alias "},
                                       {"B-06", "-2 flag -2 write1 "},
                                       {"B-16", "-4 write0 +1 allocate +4 grad "},
                                       {"B-18", "-4 zero-dummy "},
                                       {"B-20a", "-4 fold+ -4 hook+ +4 drop "},
                                       {"B-20b", "-4 fold+ -4 hook+ +4 fold= +4 hook= +4 unflag "},
                                       {"B-21", "-2 fold+ -2 hook+ +2 drop "},
                                       {"B-24", "-4 sum +4 none= "},
                                       {"M-W10", "+4 flag "},
                                   });
}

}  // namespace
}  // namespace shardcheck::tests
