// F66 is seen to fail: a machine whose accumulator is off by one in n, F or P is found, and so is one with
// another order of scales.
#include "properties/gemm_law/gemm_law.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"
#include "properties/gemm_law/run.h"

namespace shardcheck {
namespace {

/// kHopper with one number of one of its accumulators changed.
ArithmeticProfile neighbour(Accumulator ArithmeticProfile::*which, int Accumulator::*number, int step) {
  ArithmeticProfile profile = kHopper;
  profile.name = "neighbour of hopper";
  (profile.*which).*number += step;
  return profile;
}

/// A case in which the accumulator `which` works, on numbers that separate profiles.
GemmCase case_for(Accumulator ArithmeticProfile::*which, OperandFamily family, std::uint64_t seed) {
  GemmCase c;
  c.op = {.m = 32, .n = 12, .k = 256};
  if (which != &ArithmeticProfile::sixteen_bit) {
    c.a = c.b = DType::e4m3;
    c.op.scales_a = c.op.scales_b = ScaleKind::tensor;
    c.op.fast_accumulation = which == &ArithmeticProfile::fp8_fast;
  }
  c.operands = family;
  c.seed = seed;
  return c;
}

/// A GPU that is as `actual` says, judged by `declared`.
std::vector<Finding> judged(const ArithmeticProfile& actual, const ArithmeticProfile& declared,
                            const GemmCase& c) {
  return gemm_equals_profile(*make_cpu_backend(actual), c, declared);
}

TEST(GemmLaw, ANeighbourOfTheProfileIsFound) {
  for (auto which :
       {&ArithmeticProfile::sixteen_bit, &ArithmeticProfile::fp8_fast, &ArithmeticProfile::fp8_promoted}) {
    for (auto number :
         {&Accumulator::products_per_step, &Accumulator::alignment_bits, &Accumulator::kept_bits}) {
      for (int step : {-1, 1}) {
        const ArithmeticProfile other = neighbour(which, number, step);
        bool found = false;
        for (OperandFamily family : {OperandFamily::gaussian, OperandFamily::wide_exponents}) {
          for (std::uint64_t seed = 0; seed < 3; ++seed) {
            const GemmCase c = case_for(which, family, seed);
            found |= !judged(other, kHopper, c).empty();
            EXPECT_TRUE(judged(kHopper, kHopper, c).empty());
          }
        }
        const bool keeps_more_than_fp32 =
            which == &ArithmeticProfile::sixteen_bit && number == &Accumulator::kept_bits && step == 1;
        EXPECT_TRUE(found || keeps_more_than_fp32) << "accumulator and number off by " << step;
      }
    }
  }
}

TEST(GemmLaw, TheFindingNamesPlaceValuesAndRow) {
  const ArithmeticProfile other = neighbour(&ArithmeticProfile::fp8_fast, &Accumulator::alignment_bits, -1);
  const GemmCase c = case_for(&ArithmeticProfile::fp8_fast, OperandFamily::uniform, 1);
  const auto findings = judged(other, kHopper, c);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.clause, "F66");
  EXPECT_GE(finding.element, 0);
  EXPECT_NE(finding.expected.bits, finding.actual.bits);
  for (const char* part :
       {"TN 32 x 12 x 256, e4m3 x e4m3 -> f32", "row ", "column ", "profile hopper expects ", "(0x",
        "of 384 outputs differ", "FP8, fast (n 32, F 13, P 13); z = RN(acc RN(RN(alpha sa) sb))"}) {
    EXPECT_NE(finding.sentence.find(part), std::string::npos) << part << " in " << finding.sentence;
  }
}

TEST(GemmLaw, TheIdealMachineIsNoHopper) {
  const GemmCase c = case_for(&ArithmeticProfile::fp8_promoted, OperandFamily::gaussian, 5);
  EXPECT_EQ(judged(kIdeal, kHopper, c).size(), 1u);
  EXPECT_TRUE(gemm_equals_profile(*make_cpu_backend(kIdeal), c).empty());
}

/// A machine that will not say what its arithmetic is.
class Unknown final : public Backend {
 public:
  BackendInfo info() const override { return {"unknown", "", "unknown"}; }
  void execute(const Plan&, OpIndex, OpIndex) override {}
  void write(const Plan&, Rank, View, std::span<const std::byte>) override {}
  void read(const Plan&, Rank, View, std::span<std::byte>) override {}
};

TEST(GemmLaw, WithoutAProfileNothingIsSaid) {
  Unknown machine;
  try {
    gemm_equals_profile(machine, case_for(&ArithmeticProfile::sixteen_bit, OperandFamily::uniform, 1));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::machine_cannot);
    EXPECT_NE(std::string(error.what()).find("has no profile"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardcheck
