// Delayed scaling of activations: a lost maximum, an amax that is pushed twice or not at all, a history that
// is not loaded show in history or scale (F53 to F55).
#include "sim/oracle/activation_checker.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

using Clauses = std::set<std::string>;

Scenario delayed() {
  Scenario s = training("te-delayed", Strategy::fsdp_optim_grads_params, {4, 6});
  // Powers of four of other ranks and microbatches have other amaxes.
  s.data = DataMode::provenance;
  s.parameters[1].shape = {32};
  s.uses = {{.parameter = 0}, {.parameter = 2}};
  return s;
}

TEST(ActivationChecker, RightPlansAreRight) {
  Scenario s = delayed();
  s.fp8->recompute = true;
  s.fp8->evaluations = {0, 1};
  s.fp8->skipped_steps = {1};
  s.fp8->reload_after = 0;
  EXPECT_EQ(plan_of(s).delayed_activations.size(), 4u);
  EXPECT_TRUE(weight_findings(s, plan_of(s)).empty());
}

TEST(ActivationChecker, AnAmaxThatIsNotReducedIsNamed) {
  const Clauses clauses = clauses_after(delayed(), [](Planned& planned) {
    EXPECT_TRUE(erase_first(planned, 1, [&](const Op& op) {
      const auto* c = std::get_if<Communicate>(&op.action);
      return c != nullptr && c->reduction == Reduction::maximum && op.why.parameter.value < 0 &&
             planned.plan.buffer(planned.plan.operand(op, 0)[0].buffer).name == "activation_amaxes";
    }));
  });
  EXPECT_EQ(clauses, Clauses{"F54"});
}

TEST(ActivationChecker, AnAmaxThatIsNotPushedIsNamed) {
  const Clauses clauses = clauses_after(delayed(), [](Planned& planned) {
    const auto pushes = [](const Op& op) {
      return std::holds_alternative<TakeAmax>(op.action) && op.why.purpose == Purpose::forward;
    };
    while (erase_first(planned, 0, pushes)) {
    }
  });
  EXPECT_EQ(clauses, Clauses{"F54"});
}

TEST(ActivationChecker, AHistoryThatIsNotLoadedIsNamed) {
  Scenario s = delayed();
  s.fp8->reload_after = 0;
  const Clauses clauses = clauses_after(s, [](Planned& planned) {
    EXPECT_TRUE(erase_first(planned, 0, [&](const Op& op) {
      return std::holds_alternative<Copy>(op.action) &&
             planned.plan.buffer(planned.plan.operand(op, 0)[0].buffer).name == "saved.history.activation.0";
    }));
  });
  EXPECT_TRUE(clauses.contains("F53"));
}

}  // namespace
}  // namespace shardcheck::tests
