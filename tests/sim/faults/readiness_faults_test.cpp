// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ReadinessFaults, OnlyMoveOps) {
  expect_rewrites(add_readiness_faults, {{"B-25", ""}, {"M-W20", ""}});
}

/// "write count reduce" of the first parameter in the last microbatch of the last step, in the plan's order.
std::string order_in(const Plan& plan) {
  std::string order;
  for (const Op& op : plan.ops) {
    if (op.why.step != 1 || (op.why.microbatch >= 0 && op.why.microbatch != 1)) continue;
    const bool of_first = op.why.parameter.value == 0;
    if (op.why.purpose == Purpose::reduce) order += "reduce ";
    if (of_first && op.why.purpose == Purpose::write) order += "write ";
    if (of_first && std::holds_alternative<Ready>(op.action)) order += "count ";
  }
  return order;
}

TEST(ReadinessFaults, PutTheCountWhereItIsTooEarlyOrTooLate) {
  for (const auto& [id, right, wrong] : {std::tuple{"B-25", "write count reduce ", "count reduce write "},
                                         std::tuple{"M-W20", "write count reduce ", "write reduce count "}}) {
    const Fault& fault = *find_fault(id);
    for (const Strategy strategy : {Strategy::megatron_ddp, Strategy::fsdp_optim_grads}) {
      const Scenario s = prepared(fault, base(strategy));
      Planned planned = plan_of(s);
      EXPECT_EQ(order_in(planned.plan), right) << id << " " << name_of(strategy);
      ASSERT_TRUE(fault.rewrite(planned, s));
      EXPECT_EQ(order_in(planned.plan), wrong) << id << " " << name_of(strategy);
    }
  }
}

}  // namespace
}  // namespace shardcheck::tests
