// What each strategy declares of the types on a gradient's way.
#include "sim/planner/declared.h"

#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

std::string declared_by(Strategy strategy, std::int32_t outer = 1, Sync outer_sync = Sync::last) {
  Scenario s = base(strategy);
  if (is_unfused_only(strategy)) s.write_mode = WriteMode::r7;
  s.comm = DType::bf16;
  s.outer = outer;
  s.outer_sync = outer_sync;
  return to_text(*plan_of(s).plan.declared);
}

TEST(Declared, ALeaseIsInTheTypeOfTheWire) {
  for (int i = 0; i < kStrategies; ++i) {
    const auto strategy = static_cast<Strategy>(i);
    const std::string local = has_leases(strategy) ? "bf16" : "f32";
    EXPECT_TRUE(declared_by(strategy).starts_with("local sums " + local + ", wire bf16, outer sums "))
        << name_of(strategy);
    EXPECT_TRUE(declared_by(strategy).ends_with("main_grad f32")) << name_of(strategy);
  }
}

TEST(Declared, OuterGroupsAddWhereTheirSumsLie) {
  EXPECT_EQ(declared_by(Strategy::fsdp2, 2), "local sums bf16, wire bf16, outer sums bf16, main_grad f32");
  EXPECT_EQ(declared_by(Strategy::fsdp_optim_grads, 2),
            "local sums bf16, wire bf16, outer sums f32, main_grad f32");
  EXPECT_EQ(declared_by(Strategy::fsdp_no_shard, 2),
            "local sums f32, wire bf16, outer sums bf16, main_grad f32");
}

TEST(Declared, ParametersKeepTheirTypes) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}, .dtype = DType::f16});
  const Plan plan = plan_of(s).plan;
  EXPECT_EQ(plan.parameters[0].dtype, DType::bf16);
  EXPECT_EQ(plan.parameters[1].dtype, DType::f16);
}

}  // namespace
}  // namespace shardcheck::tests
