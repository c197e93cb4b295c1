// What is observed of a CPU that follows a profile is what the profile says, for `hopper`, its neighbours and
// chips that were never built.
#include "properties/fingerprint/accumulator.h"

#include "core/numerics/profile.h"
#include "properties/fingerprint/fingerprint.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

using namespace accumulator_facts;

const Accumulator& accumulator_of(const ArithmeticProfile& profile, const DotRule& rule) {
  if (bytes_of(rule.a) > 1) return profile.sixteen_bit;
  return rule.fast_accumulation ? profile.fp8_fast : profile.fp8_promoted;
}

void expect_recovered(const ArithmeticProfile& profile, const DotRule& rule) {
  const auto backend = make_cpu_backend(profile);
  const std::vector<Fact> facts = observe_accumulator(*backend, rule);
  const Accumulator& said = accumulator_of(profile, rule);
  const std::string subject = "accumulator of " + describe(rule);
  const auto value = [&](std::string_view name) { return value_in(facts, subject, name); };
  SCOPED_TRACE(subject + " of " + std::string(profile.name));
  EXPECT_EQ(value(kAlignmentBits), std::to_string(said.alignment_bits));
  EXPECT_EQ(value(kProductsPerStep), std::to_string(said.products_per_step));
  EXPECT_EQ(value(kKeptBits), std::to_string(said.kept_bits));
  EXPECT_EQ(value(kPromotionInterval),
            said.promotion_interval == 0 ? "never" : std::to_string(said.promotion_interval));
  EXPECT_EQ(value(kOrder), "ascending");
  EXPECT_EQ(value(kAlignedTerm), "toward zero");
  EXPECT_EQ(value(kSum), "toward zero");
  EXPECT_EQ(value(kMaximum), "yes");
  EXPECT_EQ(value(kProductExponent), "the operands' sum");
  EXPECT_EQ(value(kSubnormal), "kept, exponent of the least normal");
  for (const Fact& fact : facts) EXPECT_FALSE(fact.probes.empty()) << fact.name;
}

TEST(ObserveAccumulator, HopperIsRecoveredForEveryProduct) {
  for (const DotRule& rule : accumulators_to_observe()) expect_recovered(kHopper, rule);
}

/// Numbers of Accumulator one at a time, so that no fact is a constant.
TEST(ObserveAccumulator, NeighboursAreToldApart) {
  const DotRule promoted{.a = DType::e4m3, .b = DType::e4m3};
  const auto with = [](auto change) {
    ArithmeticProfile profile = kHopper;
    profile.name = "another chip";
    change(profile);
    return profile;
  };
  for (int bits : {11, 12, 14, 15}) {
    expect_recovered(with([&](ArithmeticProfile& p) { p.fp8_promoted.kept_bits = bits; }), promoted);
    expect_recovered(with([&](ArithmeticProfile& p) { p.fp8_promoted.alignment_bits = bits; }), promoted);
  }
  for (int n : {8, 16, 64}) {
    expect_recovered(with([&](ArithmeticProfile& p) { p.fp8_promoted.products_per_step = n; }), promoted);
  }
  for (int interval : {256, 512, 0}) {
    expect_recovered(with([&](ArithmeticProfile& p) { p.fp8_promoted.promotion_interval = interval; }),
                     promoted);
  }
  const DotRule bf16{.a = DType::bf16, .b = DType::bf16};
  expect_recovered(with([&](ArithmeticProfile& p) { p.sixteen_bit.alignment_bits = 24; }), bf16);
  expect_recovered(with([&](ArithmeticProfile& p) { p.sixteen_bit.products_per_step = 8; }), bf16);
  expect_recovered(with([&](ArithmeticProfile& p) { p.sixteen_bit.kept_bits = 22; }), bf16);
}

TEST(ObserveAccumulator, AnExactSumHasNoSteps) {
  const auto backend = make_cpu_backend(kIdeal);
  const DotRule rule{.a = DType::e4m3, .b = DType::e4m3};
  const std::vector<Fact> facts = observe_accumulator(*backend, rule);
  const std::string subject = "accumulator of " + describe(rule);
  EXPECT_EQ(value_in(facts, subject, kAlignmentBits), "unlimited");
  const Fact steps = fact_in(facts, subject, kProductsPerStep);
  EXPECT_FALSE(steps.is_observed());
  EXPECT_EQ(steps.how, "nothing is lost, so that no step shows");
}

TEST(ObserveAccumulator, ARefusedProductSaysWhy) {
  const auto backend = make_cpu_backend(kHopper);
  const std::vector<Fact> facts = observe_accumulator(*backend, {.a = DType::e5m2, .b = DType::e5m2});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_FALSE(facts[0].is_observed());
  EXPECT_NE(facts[0].how.find("has no rule for e5m2 x e5m2"), std::string::npos) << facts[0].how;
}

}  // namespace
}  // namespace shardcheck
