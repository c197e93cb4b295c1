// Every named policy is recovered part by part from what the CPU makes of chosen numbers.
#include "properties/fingerprint/casts.h"

#include <algorithm>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"
#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

using namespace cast_facts;

void expect_policy(const std::vector<Fact>& facts, const std::string& subject, const CastPolicy& policy,
                   const Format& to) {
  SCOPED_TRACE(subject);
  const bool saturates = policy.finite_overflow == FiniteOverflow::saturate;
  EXPECT_EQ(value_in(facts, subject, kRounding),
            policy.rounding == Rounding::nearest_even ? "nearest_even" : "toward_zero");
  EXPECT_EQ(value_in(facts, subject, kOverflow), saturates ? "saturate" : "to_special");
  EXPECT_EQ(value_in(facts, subject, kInfinity), !saturates ? "special, as a finite overflow is"
                                                 : policy.infinity == InfinityRule::as_overflow
                                                     ? "as_overflow"
                                                     : "to_special");
  EXPECT_EQ(value_in(facts, subject, kNanCode), to.nan_code == to.quiet_nan_code ? "the only one"
                                                : policy.nan_code == NanCode::all_ones_or_max
                                                    ? "all_ones_or_max"
                                                    : "quiet_or_negated_zero");
  EXPECT_EQ(value_in(facts, subject, kNanSign), policy.nan_sign == NanSign::drop ? "drop" : "keep");
  EXPECT_EQ(value_in(facts, subject, kMinusZero), "kept");
}

TEST(ObserveCasts, EveryPolicyIsRecovered) {
  const auto cpu = make_cpu_backend(kIdeal);
  const std::vector<Fact> facts = observe_casts(*cpu);
  for (const NamedCastPolicy& named : kCastPolicies) {
    for (const char* source : {"f32", "bf16", "f16"}) {
      for (FormatId to : {FormatId::e4m3, FormatId::e5m2}) {
        expect_policy(facts,
                      "cast " + std::string(source) + " -> " + std::string(format_of(to).name) + ", " +
                          std::string(named.name),
                      named.policy, format_of(to));
      }
    }
  }
  expect_policy(facts, "copy f32 -> bf16", kIeee, format_of(FormatId::bf16));
  expect_policy(facts, "copy f32 -> f16", kIeee, format_of(FormatId::f16));
}

TEST(ObserveCasts, ACastThatCutsIsSeen) {
  const std::vector<Fact> facts = observe_casts(*faulty("truncate-cast"));
  EXPECT_EQ(value_in(facts, "copy f32 -> bf16", kRounding), "toward_zero");
  EXPECT_EQ(value_in(facts, "cast f32 -> e4m3, nv_saturating", kRounding), "nearest_even");
}

TEST(ObserveCasts, ScaledCastsRoundTheirProduct) {
  const auto cpu = make_cpu_backend(kIdeal);
  const std::vector<Fact> facts = observe_scaled_casts(*cpu);
  EXPECT_EQ(value_in(facts, "quantize f32 -> e4m3", "product"), "the product is rounded to fp32 first");
  EXPECT_EQ(value_in(facts, "dequantize e4m3 -> bf16", "product"), "the product is rounded to fp32 first");
}

}  // namespace
}  // namespace shardcheck
