// The checker of FP8 weights sees damages of a plan, each by its clause, and is silent on right plans.
#include "sim/oracle/weight_checker.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

using Clauses = std::set<std::string>;

bool is_maximum(const Op& op) {
  const auto* c = std::get_if<Communicate>(&op.action);
  return c != nullptr && c->reduction == Reduction::maximum && op.why.purpose == Purpose::weights;
}

template <class Action>
bool is(const Op& op) {
  return std::holds_alternative<Action>(op.action) && op.why.purpose == Purpose::weights;
}

Clauses without(const Scenario& s, std::int32_t step, const std::function<bool(const Op&)>& is_wanted) {
  return clauses_after(s, [&](Planned& planned) { EXPECT_TRUE(erase_first(planned, step, is_wanted)); });
}

/// All ops of that kind in the step.
Clauses without_all(const Scenario& s, std::int32_t step, const std::function<bool(const Op&)>& is_wanted) {
  return clauses_after(s, [&](Planned& planned) {
    while (erase_first(planned, step, is_wanted)) {
    }
  });
}

TEST(WeightChecker, AnAmaxThatIsNotReducedGivesOtherScalesOnOtherRanks) {
  for (const Strategy strategy :
       {Strategy::megatron_ddp_zero1, Strategy::fsdp_optim_grads_params, Strategy::fsdp2})
    EXPECT_EQ(without(training("te-current", strategy, {4, 8}), 1, is_maximum), Clauses{"F41"});
}

TEST(WeightChecker, ADelayedAmaxThatIsNotReducedShowsAStepLater) {
  const Scenario s = training("te-delayed", Strategy::fsdp_optim_grads_params, {4, 8});
  EXPECT_EQ(without(s, 0, is_maximum), Clauses{"F54"});
}

TEST(WeightChecker, CodesThatAreNotMadeAreStale) {
  const Scenario s = training("te-current", Strategy::fsdp_optim, {4, 8});
  EXPECT_EQ(without_all(s, 1, is<QuantizeBlocks>), Clauses{"F50"});
  EXPECT_EQ(without_all(s, 1, is<ScaleFromAmax>), Clauses{"F50"}) << "scales of the version before";
}

TEST(WeightChecker, AGatherThatIsLeftOutLeavesPartsOfTheVersionBefore) {
  const Scenario s = training("te-current", Strategy::fsdp_optim, {4, 8});
  EXPECT_EQ(without(s, 1,
                    [](const Op& op) {
                      const auto* c = std::get_if<Communicate>(&op.action);
                      return c != nullptr && c->collective == Collective::all_gather;
                    }),
            Clauses{"F50"});
}

TEST(WeightChecker, ATransposeThatIsKeptTooLongIsStale) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 8});
  s.fp8->transposes = Transposes::keep;
  EXPECT_EQ(without(s, 1, is<DeriveColumnCopy>), Clauses{"F50"});
}

TEST(WeightChecker, UnroundedMastersAreNamed) {
  Scenario s = training("te-current", Strategy::megatron_ddp, {32, 64});
  const Clauses clauses = clauses_after(s, [](Planned& planned) {
    // The cast and the amax read the fp32 master instead of what was rounded.
    PlanEdit edit(planned);
    View master{};
    for (std::int32_t i = 0; i < edit.size(); ++i) {
      Op op = edit.op(i);
      if (op.why.step != 1 || op.why.parameter.value != 0) continue;
      if (is<Copy>(op)) master = edit.view(op, 0);
      if (!is<TakeAmax>(op) && !is<QuantizeBlocks>(op)) continue;
      const std::int8_t operands = op.operands;
      edit.change(i) = edit.with_views(op, operands, [&](std::int8_t operand, std::int32_t rank) {
        return operand == 0 ? master : edit.view(op, operand, rank);
      });
    }
    EXPECT_TRUE(edit.commit());
  });
  EXPECT_EQ(clauses, Clauses{"F47"});
}

TEST(WeightChecker, MastersOnTheGridOfCodesAreNotTheKeptValue) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 8});
  Scenario coded = s;
  coded.fp8->masters = Masters::from_bytes;
  EXPECT_EQ(clauses_after(s, [&](Planned& planned) { planned = plan_of(coded); }), Clauses{"F52"});
}

TEST(WeightChecker, ASkippedStepThatRequantisesBytesIsNamed) {
  Scenario s = training("te-delayed", Strategy::megatron_ddp, {4, 8});
  Scenario skipping = s;
  skipping.fp8->skipped_steps = {1};
  // The plan of a run that skips nothing, judged as one that skips step 1.
  EXPECT_EQ(clauses_after(skipping, [&](Planned& planned) { planned = plan_of(s); }), Clauses{"F56"});
}

TEST(WeightChecker, ARecomputedForwardThatReadsOtherInputsIsNamed) {
  Scenario s = training("te-current", Strategy::megatron_ddp, {4, 8});
  s.fp8->recompute = true;
  const Clauses clauses = clauses_after(s, [](Planned& planned) {
    PlanEdit edit(planned);
    for (std::int32_t i = 0; i < edit.size(); ++i) {
      const Op& op = edit.op(i);
      if (op.why.purpose != Purpose::recompute || !std::holds_alternative<Matmul>(op.action)) continue;
      std::get<Matmul>(edit.change(i).action).alpha = 2;
    }
    EXPECT_TRUE(edit.commit());
  });
  EXPECT_EQ(clauses, Clauses{"F55"});
}

TEST(WeightChecker, AFindingSaysWhatTheBytesAre) {
  const Scenario s = training("te-current", Strategy::fsdp_optim, {4, 8});
  Planned planned = plan_of(s);
  while (erase_first(planned, 1, is<QuantizeBlocks>)) {
  }
  while (erase_first(planned, 1, is<ScaleFromAmax>)) {
  }
  const auto findings = weight_findings(s, planned);
  ASSERT_EQ(findings.size(), 2u) << "one a weight";
  EXPECT_EQ(findings[0].parameter_name, "w0");
  EXPECT_EQ(findings[0].sentence.substr(0, 64),
            "the scales are those of version 1, and this step needs version 2");
  EXPECT_TRUE(findings[0].has_values);
  EXPECT_NE(findings[0].expected.bits, findings[0].actual.bits);
}

TEST(WeightChecker, SaysNothingWithoutFp8Weights) {
  const Scenario s = base(Strategy::megatron_ddp);
  const Planned planned = plan_of(s);
  const ScenarioData data(s);
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  EXPECT_TRUE(WeightChecker(s, data, planned).stops(*backend).empty());
}

}  // namespace
}  // namespace shardcheck::tests
