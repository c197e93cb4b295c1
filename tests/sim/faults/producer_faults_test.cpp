// What each fault of this kind takes from the plan and brings into it, on two weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ProducerFaults, RewriteThePlan) {
  expect_rewrites(
      add_producer_faults,
      {
          {"M-W12-leftover", "+4 hook0 +4 zero "},
          {"M-W13-chain", "-6 chain0 +6 chain1 "},
          {"M-W13-unflagged", "-4 fold+ -4 hook+ +4 fold= +4 hook= "},
          {"M-W15-chain", "+8 sum "},
          {"M-W16-chain", ""},
          {"M-W20-hooks", "-1 AR -1 scale +1 AR@r +1 record +1 record@r +1 scale@r +1 wait +1 wait@r "},
          {"M-W4-chain", "-4 chain1 +4 chain0 "},
      });
}

}  // namespace
}  // namespace shardcheck::tests
