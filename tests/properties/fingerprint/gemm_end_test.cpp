#include "properties/fingerprint/gemm_end.h"

#include "core/numerics/profile.h"
#include "properties/fingerprint/fingerprint.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

using namespace gemm_end_facts;

std::vector<Fact> observed(const ArithmeticProfile& profile, const DotRule& rule) {
  const auto cpu = make_cpu_backend(profile);
  return observe_gemm_end(*cpu, rule);
}

TEST(ObserveGemmEnd, HopperRoundsTheProductBeforeCIsAdded) {
  for (const DotRule& rule : ends_to_observe()) {
    const std::vector<Fact> facts = observed(kHopper, rule);
    const std::string subject = "end of " + describe(rule);
    SCOPED_TRACE(subject);
    EXPECT_EQ(value_in(facts, subject, kOverwrite), "never reads the old content");
    EXPECT_EQ(value_in(facts, subject, kUnwritten), "written");
    if (rule.d == DType::f32) {
      EXPECT_EQ(value_in(facts, subject, kAccumulation), "D = RN(z + C), at the end");
    } else {
      EXPECT_EQ(value_in(facts, subject, kAccumulation), "D = RN16(RN16(z) + C)");
      EXPECT_EQ(value_in(facts, subject, kRounding), "nearest_even");
    }
    EXPECT_EQ(value_in(facts, subject, kSpecial), "as IEEE 754");
    EXPECT_EQ(value_in(facts, subject, kZero), "always +0");
  }
}

TEST(ObserveGemmEnd, AnExactSumIsRoundedOnce) {
  const DotRule rule{.d = DType::bf16};
  EXPECT_EQ(value_in(observed(kIdeal, rule), "end of " + describe(rule), kAccumulation), "D = RN16(z + C)");
}

TEST(ObserveGemmEnd, FaultsOfWeightGradientsShow) {
  const DotRule rule{.op = GemmOp::wgrad};
  const std::string subject = "end of " + describe(rule);
  const auto with = [&](const char* fault) { return observe_gemm_end(*faulty(fault), rule); };
  EXPECT_EQ(value_in(with("stale-beta"), subject, kOverwrite), "adds to the old content");
  EXPECT_EQ(value_in(with("drop-last-element"), subject, kUnwritten), "1 of 4096 elements are wrong");
  EXPECT_EQ(value_in(with("flush-subnormals"), subject, kSubnormals), "flushed to zero");
}

TEST(ObserveGemmEnd, NoTokensWriteZerosOrNothing) {
  const auto cpu = make_cpu_backend(kHopper);
  const std::vector<Fact> facts = observe_empty_wgrad(*cpu);
  EXPECT_EQ(value_in(facts, "wgrad of no tokens", "beta = 0"), "writes +0");
  EXPECT_EQ(value_in(facts, "wgrad of no tokens", "beta = 1"), "leaves every byte");
  EXPECT_EQ(value_in(observe_empty_wgrad(*faulty("empty-gemm-skips")), "wgrad of no tokens", "beta = 0"),
            "leaves every byte");
}

}  // namespace
}  // namespace shardcheck
