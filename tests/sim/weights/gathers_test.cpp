// When codes are whole: at once where the owner keeps them, unit by unit where it shards them, beside compute
// and behind an event (fp8 4.9, F46).
#include "sim/weights/gathers.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

std::int64_t gathers_in(const Plan& plan, std::int32_t step) {
  return std::ranges::count_if(plan.ops, [&](const Op& op) {
    const auto* c = std::get_if<Communicate>(&op.action);
    return op.why.step == step && c != nullptr && c->collective == Collective::all_gather;
  });
}

TEST(Gathers, ShardedWeightsAreGatheredForEveryPass) {
  const Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  EXPECT_EQ(gathers_in(plan_of(s).plan, 1), 2 * 2 * 2) << "two units, two microbatches, there and back";
  const Scenario mx = training("te-mxfp8", Strategy::fsdp_optim_grads_params, {32, 32});
  EXPECT_EQ(gathers_in(plan_of(mx).plan, 1), 2 * 2 * 2) << "rows forward, columns backward";
}

TEST(Gathers, KeptWeightsAreGatheredOnceAStep) {
  const Scenario s = training("te-current", Strategy::fsdp_optim, {4, 6});
  EXPECT_EQ(gathers_in(plan_of(s).plan, 1), 2) << "two units";
  const Scenario mx = training("te-mxfp8", Strategy::fsdp_optim, {32, 32});
  EXPECT_EQ(gathers_in(plan_of(mx).plan, 1), 4) << "both directions";
  EXPECT_EQ(gathers_in(plan_of(training("te-current", Strategy::megatron_ddp, {4, 6})).plan, 1), 0);
}

struct Held {
  Reshard reshard;
  std::int64_t tensor, mx;  ///< gathers a step: of one copy, and of two that are quantised
};

TEST(Gathers, Fsdp2GathersAsOftenAsItFrees) {
  constexpr Held rows[] = {{Reshard::after_forward, 8, 8},   // two units, two microbatches, there and back
                           {Reshard::after_backward, 4, 8},  // there, with columns for the way back
                           {Reshard::after_step, 2, 4}};     // in the first microbatch
  for (const Held& row : rows) {
    Scenario s = training("te-current", Strategy::fsdp2, {4, 6});
    s.reshard = row.reshard;
    EXPECT_EQ(gathers_in(plan_of(s).plan, 1), row.tensor) << name_of(row.reshard);
    s = training("te-mxfp8", Strategy::fsdp2, {32, 32});
    s.reshard = row.reshard;
    EXPECT_EQ(gathers_in(plan_of(s).plan, 1), row.mx) << name_of(row.reshard);
  }
}

TEST(Gathers, AnEvaluationLeavesWeightsForTheNextStep) {
  Scenario s = training("te-current", Strategy::fsdp2, {4, 6});
  s.fp8->evaluations = {0};
  s.reshard = Reshard::after_backward;
  EXPECT_EQ(gathers_in(plan_of(s).plan, 0), 4 + 2) << "the evaluation follows the step";
  EXPECT_EQ(gathers_in(plan_of(s).plan, 1), 4 - 2) << "its first forward finds them whole";
}

TEST(Gathers, RowsAreCopiedOutBehindTheGather) {
  const Scenario s = training("te-current", Strategy::fsdp2, {4, 6});
  const Planned planned = plan_of(s);
  const View whole = planned.plan.weight_copies[0].codes;
  std::vector<bool> covered(24);
  for (const Op& op : planned.plan.ops) {
    const bool copies = op.why.step == 1 && op.why.microbatch == 0 && std::holds_alternative<Copy>(op.action);
    if (!copies || planned.plan.operand(op, 1)[0].buffer != whole.buffer) continue;
    EXPECT_EQ(op.stream, Stream::compute);
    const View to = planned.plan.operand(op, 1)[0];
    for (std::int64_t i = 0; i < to.numel; ++i) covered[static_cast<std::size_t>(to.offset + i)] = true;
  }
  EXPECT_EQ(covered, std::vector<bool>(24, true));
}

TEST(Gathers, AWeightThatNoBackwardUsedIsFreedAllTheSame) {
  Scenario s = training("te-current", Strategy::fsdp2, {4, 6});
  s.reshard = Reshard::after_step;
  s.silent = {{.parameter = 2, .microbatch = s.microbatches - 1}};
  EXPECT_TRUE(weight_findings(s, plan_of(s)).empty());
  EXPECT_EQ(gathers_in(plan_of(s).plan, 1), 2) << "or step 1 would find the codes of step 0";
}

TEST(Gathers, TransposesAreDerivedOncePerUseOrOncePerVersion) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  EXPECT_EQ(count_of<DeriveColumnCopy>(plan_of(s).plan, 1), 4) << "two weights, two microbatches";
  s.fp8->transposes = Transposes::keep;
  EXPECT_EQ(count_of<DeriveColumnCopy>(plan_of(s).plan, 1), 2);
  s.fp8->skipped_steps = {0};
  EXPECT_EQ(count_of<DeriveColumnCopy>(plan_of(s).plan, 1), 0) << "version 0 has its transposes already";
}

TEST(Gathers, AGatherBesideComputeIsWaitedFor) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  const Planned planned = plan_of(s);
  for (std::size_t i = 0; i < planned.plan.ops.size(); ++i) {
    const auto* c = std::get_if<Communicate>(&planned.plan.ops[i].action);
    if (c == nullptr || c->collective != Collective::all_gather) continue;
    EXPECT_EQ(planned.plan.ops[i].stream, Stream::reduce);
    EXPECT_TRUE(std::holds_alternative<Wait>(planned.plan.ops[i - 1].action)) << "for what compute did";
    EXPECT_TRUE(std::holds_alternative<Record>(planned.plan.ops[i + 1].action));
  }
  s.overlap = false;
  EXPECT_EQ(story(plan_of(s), 1).find("AG@r"), std::string::npos);
}

TEST(Gathers, BytesOfOthersAreUndefinedBetweenPasses) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  const std::set<std::string> clauses = clauses_after(s, [](Planned& planned) {
    EXPECT_TRUE(erase_first(planned, 1, [](const Op& op) {
      const auto* c = std::get_if<Communicate>(&op.action);
      return c != nullptr && c->collective == Collective::all_gather;
    }));
  });
  EXPECT_EQ(clauses, std::set<std::string>{"F50"});
}

}  // namespace
}  // namespace shardcheck::tests
