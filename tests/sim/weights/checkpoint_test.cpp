// Save and load between steps: everything that is not derived comes back bit for bit (fp8 4.9, E16, E17,
// F53).
#include "sim/weights/checkpoint.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

TEST(Checkpoint, TheNextStepsEqualTheUninterruptedRun) {
  for (const char* recipe : {"te-current", "te-delayed"}) {
    for (const Strategy strategy : kWithFp8) {
      Scenario s = training(recipe, strategy, {4, 6});
      for (const std::int32_t step : {0, 1, 2}) {
        s.fp8->reload_after = step;
        EXPECT_TRUE(weight_findings(s, plan_of(s)).empty()) << recipe << ", " << name_of(s.strategy);
      }
    }
  }
}

TEST(Checkpoint, WhatIsNotLoadedIsFound) {
  Scenario s = training("te-delayed", Strategy::fsdp_optim_grads_params, {4, 6});
  s.fp8->reload_after = 0;  // a history shows two steps later
  const Planned right = plan_of(s);
  int loads = 0, caught = 0;
  for (std::int32_t i = 0; i < std::ssize(right.plan.ops); ++i) {
    const Op& op = right.plan.ops[static_cast<std::size_t>(i)];
    if (!std::holds_alternative<Copy>(op.action)) continue;
    const std::string& from = right.plan.buffer(right.plan.operand(op, 0)[0].buffer).name;
    if (!from.starts_with("saved.") || from.find("activation") != std::string::npos) continue;
    ++loads;
    caught += !clauses_after(s, [&](Planned& planned) {
                 PlanEdit edit(planned);
                 edit.erase(i);
                 edit.commit();
               }).empty();
  }
  EXPECT_EQ(loads, 2 * 5) << "masters, codes, scales, history and scale of two weights";
  EXPECT_EQ(caught, loads);
}

}  // namespace
}  // namespace shardcheck::tests
