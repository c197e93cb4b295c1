// The law holds on the reference and fails on machines that round otherwise. The GPU's turn is
// hardware_test.cpp.
#include "properties/cast_law/cast_law.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/encode.h"
#include "properties/cast_law/digest.h"

namespace shardcheck {
namespace {

/// A sampling stride that is odd and large; all inputs where SHARDCHECK_ALL_FP32 is set.
CastInputs inputs() {
  return {std::getenv("SHARDCHECK_ALL_FP32") != nullptr ? 1u : 65'537u};
}

std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.clause + ": " + finding.sentence + "\n";
  return text;
}

TEST(CastLaw, HoldsOnTheReference) {
  const auto cpu = make_cpu_backend(kIdeal);
  EXPECT_EQ(all_of(all_fp32_casts(*cpu, inputs())), "");
}

/// A machine that does what `policy` says, whatever it is asked for.
class StubbornMachine final : public Backend {
 public:
  explicit StubbornMachine(const CastPolicy& policy) : policy_(policy) {}
  BackendInfo info() const override { return {"stubborn", "", "ideal"}; }
  void write(const Plan&, Rank, View view, std::span<const std::byte> bytes) override {
    auto& to = bytes_[view.buffer.value];
    to.assign(bytes.begin(), bytes.end());
  }
  void execute(const Plan& plan, OpIndex, OpIndex) override {
    const Format& format = format_of(*format_id_of(plan.buffers[1].dtype));
    for (std::size_t i = 0; i < bytes_[1].size(); ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, &bytes_[0][4 * i], 4);
      bytes_[1][i] = static_cast<std::byte>(encode(format, policy_, bits));
    }
  }
  void read(const Plan&, Rank, View view, std::span<std::byte> bytes) override {
    std::copy(bytes_[view.buffer.value].begin(), bytes_[view.buffer.value].end(), bytes.begin());
  }

 private:
  CastPolicy policy_;
  std::vector<std::byte> bytes_[2];
};

TEST(CastLaw, AnotherPolicyIsFound) {
  StubbornMachine machine(kNvSaturating);
  const auto findings = all_fp32_casts(machine, inputs());
  EXPECT_EQ(findings.size(), 12u);  // 2 formats, 6 other policies
  for (const Finding& finding : findings) EXPECT_NE(finding.clause, "F3") << finding.sentence;
}

TEST(CastLaw, TruncationIsFoundAndTold) {
  CastPolicy truncates = kNvSaturating;
  truncates.rounding = Rounding::toward_zero;
  StubbornMachine machine(truncates);
  const auto findings = all_fp32_casts(machine, inputs());
  ASSERT_EQ(findings.size(), 14u);
  EXPECT_EQ(findings[0].clause, "F3");
  EXPECT_EQ(findings[0].sentence.substr(0, findings[0].sentence.find(';')),
            "cast of 0.0009765626164153218 (0x3a800001) to e4m3 by nv_saturating: expected 0.001953125 "
            "(0x01), actual 0 "
            "(0x00)");
}

SweptCasts right_answer(DType destination, std::int8_t policy) {
  const NearestCode codes(format_of(*format_id_of(destination)),
                          kCastPolicies[static_cast<std::size_t>(policy)].policy);
  return {.digest = cast_digest(codes)};
}

TEST(CastLaw, SweepsAreJudged) {
  EXPECT_EQ(all_of(all_fp32_casts(CastSweeper(right_answer))), "");
  const auto differs = all_fp32_casts(CastSweeper([](DType destination, std::int8_t policy) {
    SweptCasts swept = right_answer(destination, policy);
    if (policy == 0) swept = {.differences = 2, .input = 0x43E80001u, .expected = 0x7E, .actual = 0x7F};
    return swept;
  }));
  ASSERT_EQ(differs.size(), 2u);
  EXPECT_EQ(differs[0].clause, "F7");
  EXPECT_NE(differs[0].sentence.find("2 of 2^32 inputs differ"), std::string::npos);
  const auto lies = all_fp32_casts(CastSweeper([](DType destination, std::int8_t) {
    return right_answer(destination, 0);  // one answer to all questions
  }));
  EXPECT_GE(lies.size(), 10u);
}

}  // namespace
}  // namespace shardcheck
