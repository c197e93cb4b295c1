// `hopper` against what an H200 wrote (every output of the recorded cases) and against the golden dot
// products.
#include "core/numerics/aligned_gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/numerics/gemm.h"
#include "core/numerics/narrow.h"
#include "tests/core/numerics/golden.h"
#include "tools/shardcheck/conform/conform.h"

namespace shardcheck {
namespace {

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(golden::hex(text.substr(i, 2))));
  return bytes;
}

float dot(const ArithmeticProfile& profile, FormatId a_format, const std::vector<std::byte>& a,
          FormatId b_format, const std::vector<std::byte>& b, std::int64_t k, FastAccumulation fast) {
  const float one[] = {1.0f};
  const bool fp8 = format_of(a_format).width() == 8;
  const GemmProblem problem{.m = 1,
                            .n = 1,
                            .k = k,
                            .a = {a_format, a, k, 1},
                            .b = {b_format, b, k, 1},
                            .scale_mode_a = fp8 ? ScaleMode::tensor : ScaleMode::none,
                            .scale_mode_b = fp8 ? ScaleMode::tensor : ScaleMode::none,
                            .scales_a = one,
                            .scales_b = one,
                            .alpha = 1,
                            .beta = GemmBeta::zero,
                            .output = DType::f32,
                            .fast_accumulation = fast,
                            .split_k = 1};
  EXPECT_EQ(unsupported_reason(profile, problem).value_or(""), "");
  std::byte bytes[4];
  gemm(profile, problem, {}, bytes);
  float result;
  std::memcpy(&result, bytes, 4);
  return result;
}

TEST(AlignedGemm, RecordedOnAnH200) {
  const auto report = conform_gemm(golden::path("gemm/hopper_gemm.json"));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->cases, 89);
  EXPECT_EQ(report->agreements, report->cases);
  for (const Disagreement& disagreement : report->disagreements) ADD_FAILURE() << disagreement.sentence;
}

TEST(AlignedGemm, GoldenDotProducts) {
  std::ifstream file(golden::path("fp8/gemm_accumulator.json"));
  const auto document = nlohmann::json::parse(file);
  for (const auto& entry : document["cases"]) {
    SCOPED_TRACE(entry["name"]);
    const auto id = [&](const char* field) {
      return entry[field] == "e5m2" ? FormatId::e5m2 : FormatId::e4m3;
    };
    const auto a = from_hex(entry["a"]);
    const auto b = from_hex(entry["b"]);
    const auto bits = [&](const ArithmeticProfile& profile, FastAccumulation fast) {
      return std::bit_cast<std::uint32_t>(
          dot(profile, id("a_format"), a, id("b_format"), b, entry["k"], fast));
    };
    EXPECT_EQ(bits(kIdeal, FastAccumulation::off), golden::hex(entry["ideal_rn_fp32_bits"]));
    if (id("a_format") == FormatId::e5m2) continue;  // E5M2 x E5M2: no library offers it
    EXPECT_EQ(bits(kHopper, FastAccumulation::off), golden::hex(entry["promote128_fp32_bits"]));
    EXPECT_EQ(bits(kHopper, FastAccumulation::on), golden::hex(entry["no_promotion_fp32_bits"]));
  }
}

float bf16_dot(std::initializer_list<float> a, std::initializer_list<float> b) {
  const auto codes = [](std::initializer_list<float> values) {
    std::vector<std::byte> bytes(values.size() * 2);
    std::size_t at = 0;
    for (const float value : values) {
      const std::uint16_t code = f32_to_bf16(value);
      std::memcpy(bytes.data() + at, &code, 2);
      at += 2;
    }
    return bytes;
  };
  return dot(kHopper, FormatId::bf16, codes(a), FormatId::bf16, codes(b), std::ssize(a),
             FastAccumulation::off);
}

TEST(AlignedGemm, ClassesOfNanAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bf16_dot({1, kInfinity, -5}, {1, 1, 1}), kInfinity);
  EXPECT_EQ(bf16_dot({1, kInfinity, -5}, {1, -1, 1}), -kInfinity);
  EXPECT_TRUE(std::isnan(bf16_dot({kInfinity, kInfinity}, {1, -1})));
  EXPECT_TRUE(std::isnan(bf16_dot({kInfinity, 1}, {0, 1})));
  EXPECT_TRUE(std::isnan(bf16_dot({NAN, 1}, {1, 1})));
  EXPECT_EQ(bf16_dot({0x1p100f, 1}, {0x1p100f, 1}), kInfinity) << "a sum of 2^128 or more";
}

}  // namespace
}  // namespace shardcheck
