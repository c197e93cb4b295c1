// Weights recovered from one-hot runs (wgrad 10.1): right owners show the scale, faults their factor.
#include "properties/linear_probe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/registry.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

Scenario two_ranks(Strategy strategy) {
  Scenario s;
  s.strategy = strategy;
  s.write_mode = is_unfused_only(strategy) ? WriteMode::r7 : WriteMode::r5;
  s.parameters = {{.name = "w0", .shape = {4, 32}}};
  s.uses = {{.parameter = 0}};
  return s;
}

LinearProbe probed(const Scenario& s) {
  const auto backend = make_backend("cpu", {"ideal"});
  return probe(*backend, s);
}

TEST(LinearProbe, EveryOwnerGivesEveryContributionTheOneWeight) {
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = two_ranks(static_cast<Strategy>(i));
    validate(s, "test");
    const LinearProbe found = probed(s);
    EXPECT_EQ(found.runs, 1 + 2 * 2 * 2) << name_of(s.strategy);
    EXPECT_EQ(found.runs, probes_of(s));
    ASSERT_EQ(found.parameters.size(), 1u);
    EXPECT_EQ(found.parameters[0].scale, 0.5);
    EXPECT_TRUE(found.parameters[0].wrong.empty()) << to_text(found.parameters[0].wrong[0], 1);
    EXPECT_TRUE(found.findings.empty());
  }
}

TEST(LinearProbe, AThirdIsJudgedWithinItsBound) {
  Scenario s = two_ranks(Strategy::megatron_ddp);
  s.ranks = 3;
  EXPECT_TRUE(probed(s).findings.empty());
}

TEST(LinearProbe, OnlyContributionsThatExistAreProbed) {
  Scenario s = two_ranks(Strategy::fsdp_optim_grads);
  s.silent = {{.parameter = 0, .rank = 1}};
  s.token_counts = {{.rank = 0, .microbatch = 1, .tokens = 0}};
  const LinearProbe found = probed(s);
  EXPECT_EQ(found.runs, 1 + 2) << "microbatch 0 of rank 0, in two steps";
  EXPECT_TRUE(found.findings.empty());
}

/// b_k = 2 b_(k-1) + g_k (B-34): digits end at 3, weights do not.
TEST(LinearProbe, ShowsThePowersOfAnAliasThatDoubles) {
  Scenario s = two_ranks(Strategy::fsdp_optim_grads);
  s.fault = "B-34";
  find_fault(s.fault)->prepare(s);
  s.microbatches = 4;
  s.data = DataMode::integers;
  const LinearProbe found = probed(s);
  ASSERT_EQ(found.findings.size(), 1u);
  const auto& wrong = found.parameters[0].wrong;
  const double scale = found.parameters[0].scale;
  for (std::int32_t m = 0; m < 3; ++m) {
    const auto it =
        std::ranges::find_if(wrong, [&](const SimulatedWeight& w) { return w.key.microbatch == m; });
    ASSERT_NE(it, wrong.end()) << m;
    EXPECT_EQ(it->weight / scale, static_cast<double>(1 << (3 - m)));
  }
  EXPECT_FALSE(found.parameters[0].patterns.empty());
}

TEST(LinearProbe, NamesUndefinedBytesAsGarbage) {
  Scenario s = two_ranks(Strategy::fsdp_optim_grads);
  s.write_mode = WriteMode::r2;
  s.uses = {{.parameter = 0, .producer = Producer::unfused}};
  s.fault = "B-58";
  const Fault* fault = find_fault(s.fault);
  ASSERT_NE(fault, nullptr);
  fault->prepare(s);
  const LinearProbe found = probed(s);
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings[0].clause, "W3") << found.findings[0].sentence;
}

TEST(LinearProbe, AWeightIsTold) {
  EXPECT_EQ(
      to_text({.key = {.rank = 2, .microbatch = 1}, .reader = 3, .step = 1, .weight = 2, .right = 0.25}, 1),
      "microbatch 1 of rank 2 (step 0) has weight 2 in step 1 on rank 3, where 1/4 is right");
}

}  // namespace
}  // namespace shardcheck
