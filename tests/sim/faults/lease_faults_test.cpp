// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(LeaseFaults, RewriteThePlan) {
  expect_rewrites(add_lease_faults,
                  {
                      {"B-07", "-2 acc+@r +2 acc=@r "},
                      {"B-10b", "+4 open "},
                      {"B-28", "-4 wait "},
                      {"B-29", "-8 close@r +8 close "},
                      {"B-31", "-4 wait +4 wait@r "},
                      {"B-34", "+4 acc+@r "},
                      {"B-43", "+2 zero "},
                      {"B-44", "-2 zero "},
                      {"B-50", "-4 RS@r -2 acc+@r -2 acc=@r -4 close@r -4 scale@r -4 zero "},
                      {"B-54", "+4 acc+@r "},
                      {"B-58", "-1 zero "},
                      {"M-E8", "-2 finish -2 sgd +2 finish@r +2 sgd@r "},
                      {"M-W19", "+4 write0 "},
                      {"M-W3", "-2 zero "},
                      {"M-W6", "-1 zero "},
                  });
}

}  // namespace
}  // namespace shardcheck::tests
