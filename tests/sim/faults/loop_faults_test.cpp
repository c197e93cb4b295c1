// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(LoopFaults, RewriteThePlan) {
  expect_rewrites(add_loop_faults,
                  {
                      {"M-W37a", "+4 write1 "},
                      {"M-W37b", ""},
                      {"M-W37c", "+4 flag "},
                      {"B-04b", "-2 write1 +2 write0 "},
                      {"B-57", "-2 zero-dummy -2 zeroed-dummy +2 dummy "},
                      {"M-W40a", "-1 fold= -1 hook= +1 fold+ +1 hook+ "},
                      {"M-W40b", "-1 close -1 open "},
                      {"M-W40c", "+1 open +1 zero "},
                      {"M-W40d", "-1 acc=@r +1 acc+@r "},
                      {"M-W40e", "+1 sum "},
                      {"M-W40f", "-1 zero "},
                      {"M-W10b", "+2 drop +2 dummy +2 flag +1 ready +2 write1 "},
                      {"M-W29b", "+2 open +1 wait +2 zero "},
                      {"B-59",
                       "-1 RS@r -1 acc+@r -1 close@r -4 fold= -2 hook= -1 open -2 ready -1 record "
                       "-2 record@r -1 scale@r -1 wait -1 wait@r +4 fold+ +2 hook+ "},
                      {"M-W31a", "-4 fold= -2 hook= +2 drop "},
                      {"M-W31b", "+4 fold+ "},
                  });
}

}  // namespace
}  // namespace shardcheck::tests
