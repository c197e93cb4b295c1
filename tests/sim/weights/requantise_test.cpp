// From masters to codes: the steps of fp8 4.2 in their order, and worked numbers of fp8 3.8 and 3.1.
#include "sim/weights/requantise.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

/// Words of the ops between the optimizer and the end of the step, of all parameters.
std::string after_step(const Scenario& s, std::int32_t step) {
  const std::string all = story(plan_of(s), step);
  const auto at = all.rfind("sgd");
  return at == std::string::npos ? "" : all.substr(at + 4);
}

TEST(Requantise, ScalesComeBetweenTheMaximumAndTheCast) {
  Scenario s = training("te-current", Strategy::megatron_ddp_zero1, {2, 2});
  s.overlap = false;
  s.ranks = 2;
  // Bucket of 4 + 5 + 4 elements, padded: rank 0 has w0 and a part of nothing else of FP8.
  EXPECT_EQ(after_step(s, 0), "weights= weights= zero amax amax max scales scales cast8 cast8 AG ]");
}

TEST(Requantise, DelayedScalingCastsFirst) {
  Scenario s = training("te-delayed", Strategy::megatron_ddp, {2, 2});
  s.uses = {{.parameter = 0}};
  s.parameters.resize(1);
  EXPECT_EQ(after_step(s, 0), "weights= cast8 weights= zero amax close-step max close-step close-step zero ]")
      << "the last close is of x and dy";
}

TEST(Requantise, UnshardedOwnersReduceNothing) {
  Scenario s = training("te-mxfp8", Strategy::fsdp_no_shard, {32, 32});
  EXPECT_EQ(after_step(s, 0).find(" max "), std::string::npos);
  EXPECT_EQ(after_step(s, 0).find("AG"), std::string::npos);
}

TEST(Requantise, ASkippedStepTouchesNothing) {
  Scenario s = training("te-current", Strategy::fsdp_optim, {4, 4});
  s.fp8->skipped_steps = {1};
  EXPECT_EQ(count_of<SgdStep>(plan_of(s).plan, 1), 0);
  EXPECT_EQ(count_of<QuantizeBlocks>(plan_of(s).plan, 1), 0);
  EXPECT_GT(count_of<QuantizeBlocks>(plan_of(s).plan, 2), 0);
}

TEST(Requantise, ARankWithAnEmptyPieceJoinsTheMaximum) {
  Scenario s = training("te-current", Strategy::fsdp_optim, {1, 1});  // four ranks, one element
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    const auto* c = std::get_if<Communicate>(&op.action);
    if (c != nullptr && c->reduction == Reduction::maximum) {
      EXPECT_EQ(op.ranks, 4);
    }
    if (std::holds_alternative<TakeAmax>(op.action) && op.why.purpose == Purpose::weights) {
      EXPECT_EQ(op.ranks, 1);
    }
  }
  EXPECT_TRUE(weight_findings(s, planned).empty());
}

TEST(Requantise, MastersComeFromTheKeptValueOrFromCodesAsDeclared) {
  Scenario s = training("te-current", Strategy::megatron_ddp, {4, 4});
  EXPECT_EQ(count_of<DequantizeBlocks>(plan_of(s).plan, 0), 0);
  s.fp8->masters = Masters::from_bytes;
  EXPECT_GT(count_of<DequantizeBlocks>(plan_of(s).plan, 0), 0);
  EXPECT_TRUE(weight_findings(s, plan_of(s)).empty());
}

}  // namespace
}  // namespace shardcheck::tests
