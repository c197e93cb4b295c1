// What each fault of this kind takes from the plan and brings into it. The rest: every replica, and every
// drain, adds in another order.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(OrderFaults, RewriteThePlan) {
  expect_rewrites(add_order_faults, {
                                        {"M-W39a", "+2 AG@r +1 allocate +2 none=@r +4 sum@r "},
                                        {"M-W39b", "+2 AG@r +1 allocate +2 none=@r +6 sum@r "},
                                        {"M-W39c", ""},
                                    });
}

TEST(OrderFaults, EveryReplicaBeginsWithItsOwnAddend) {
  const Plan plan = rewritten("M-W39a");
  int first = 0;
  for (const Op& op : plan.ops) {
    if (op.why.purpose != Purpose::none || !std::holds_alternative<Copy>(op.action)) continue;
    ++first;
    const auto from = plan.operand(op, 0);
    for (std::size_t i = 1; i < from.size(); ++i)
      EXPECT_EQ(from[i].offset, from[0].offset + static_cast<std::int64_t>(i) * from[0].numel);
  }
  EXPECT_GT(first, 0);
}

TEST(OrderFaults, TheLastUseComesFirst) {
  const Plan plan = rewritten("M-W39c");
  std::vector<std::int16_t> uses;
  for (const Op& op : plan.ops) {
    if (std::holds_alternative<Gemm>(op.action) && op.why.parameter.value == 0 && op.why.step == 0 &&
        op.why.microbatch == 0)
      uses.push_back(op.why.use);
  }
  // Backward meets the last use first; the fault turns that round.
  EXPECT_EQ(uses, (std::vector<std::int16_t>{0, 1, 2}));
}

}  // namespace
}  // namespace shardcheck::tests
