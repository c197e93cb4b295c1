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
