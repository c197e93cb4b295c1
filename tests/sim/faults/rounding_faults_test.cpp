// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(RoundingFaults, RewriteThePlan) {
  expect_rewrites(add_rounding_faults,
                  {
                      {"B-02b", "-4 write1 +1 allocate +4 grad +4 write+ "},
                      {"B-56", "+1 allocate +1 stage +1 stage@r "},
                      {"K02b", "+1 allocate +8 none= "},
                      {"K06b", "+1 allocate +1 stage +1 stage@r +1 unstage +1 unstage@r "},
                      {"M-W38a", "+1 allocate +2 none= +2 none=@r "},
                      {"M-W38b", ""},
                  });
}

}  // namespace
}  // namespace shardcheck::tests
