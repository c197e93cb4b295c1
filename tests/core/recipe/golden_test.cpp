// Every golden file of fp8 9 through the reader that `shardcheck conform` uses; then a wrong value in each
// kind of file is found, and damage is a sentence.
#include "tests/core/numerics/golden.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tools/shardcheck/conform/conform.h"

namespace shardcheck {
namespace {

using Reader = std::optional<ConformReport> (*)(const std::filesystem::path&);

void expect_all(Reader read, const std::string& name, std::int64_t cases) {
  const auto report = read(golden::path("fp8/" + name));
  ASSERT_TRUE(report) << name << " is not recognised";
  EXPECT_EQ(report->cases, cases) << name;
  EXPECT_EQ(report->agreements + report->unsupported, cases) << name;
  for (const Disagreement& each : report->disagreements)
    ADD_FAILURE() << name << ": " << each.case_id << ": " << each.sentence;
}

TEST(Golden, CastsAgree) {
  expect_all(conform_casts, "fp32_corners.csv", 102);
  expect_all(conform_casts, "fp32_to_e8m0.csv", 45);
  expect_all(conform_casts, "double_rounding.csv", 206);
  expect_all(conform_casts, "decode.csv", 256);
  expect_all(conform_cast_planes, "bf16_to_fp8.bin", 4 * 65536);
  expect_all(conform_cast_planes, "bf16_to_other.bin", 7 * 65536);
  expect_all(conform_cast_planes, "fp16_to_fp8.bin", 4 * 65536);
}

TEST(Golden, ScalesAndRecipesAgree) {
  expect_all(conform_scales, "scale_from_amax.csv", 780);
  expect_all(conform_delayed, "delayed_scaling.json", 57);
  expect_all(conform_quantised, "quantize_cases.json", 10);
  expect_all(conform_dot_products, "gemm_accumulator.json", 63);
}

class WrongFile : public ::testing::Test {
 protected:
  WrongFile() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::path(::testing::TempDir()) / (std::string("shardcheck_recipe_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  ~WrongFile() override { std::filesystem::remove_all(folder_); }

  /// A copy of a golden file with the first `from` replaced.
  std::filesystem::path changed(const std::string& name, const std::string& from,
                                const std::string& to) const {
    const auto bytes = golden::bytes("fp8/" + name);
    std::string text(bytes.begin(), bytes.end());
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << name << " has no " << from;
    std::ofstream(folder_ / name, std::ios::binary) << text.replace(at, from.size(), to);
    return folder_ / name;
  }

  static void expect_refused(Reader read, const std::filesystem::path& file, const std::string& part) {
    try {
      read(file);
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  std::filesystem::path folder_;
};

TEST_F(WrongFile, IsFound) {
  const auto found = [](std::optional<ConformReport> report) {
    return report && report->disagreements.size() == 1 &&
           report->agreements + report->unsupported + 1 == report->cases;
  };
  EXPECT_TRUE(found(conform_casts(changed("decode.csv", "1/512", "1/513"))));
  EXPECT_TRUE(found(conform_casts(changed("double_rounding.csv", "bf16,01,00", "bf16,00,00"))));
  EXPECT_TRUE(found(conform_casts(changed("fp32_to_e8m0.csv", "00000000,00", "00000000,01"))));
  EXPECT_TRUE(found(conform_cast_planes(changed("bf16_to_fp8.bin", std::string("\x7e\x7e", 2), "\x7d\x7e"))));
  EXPECT_TRUE(
      found(conform_scales(changed("scale_from_amax.csv", "3f800000,3f800000", "3f800001,3f800000"))));
  EXPECT_TRUE(found(conform_delayed(changed("delayed_scaling.json", "\"43000000\"", "\"43000001\""))));
  EXPECT_TRUE(
      found(conform_quantised(changed("quantize_cases.json", "48d421d689bd0b9a", "48d421d689bd0b9b"))));
  EXPECT_TRUE(found(conform_quantised(changed("quantize_cases.json", "\"first16\"", "\"first17\""))))
      << "an output that nothing computes";
  EXPECT_TRUE(found(conform_dot_products(changed("gemm_accumulator.json", "\"42000000\"", "\"42000001\""))));
}

TEST_F(WrongFile, DamageIsASentence) {
  expect_refused(conform_casts, changed("decode.csv", "01,1/512", "01"), "line 3: has 8 fields, expected 9");
  expect_refused(conform_casts, changed("fp32_to_e8m0.csv", "80000000,00", "8000000g,00"),
                 "fp32_bits is \"8000000g\", expected up to eight hexadecimal digits");
  expect_refused(conform_casts, changed("double_rounding.csv", "e4m3fn", "e4m4"), "format is \"e4m4\"");
  expect_refused(conform_cast_planes, changed("fp16_to_fp8.bin", std::string("\x7e\x7e", 2), "\x7d"),
                 "expected 4 planes of 65536");
  expect_refused(conform_scales, changed("scale_from_amax.csv", ",448,", ",x,"), "fp8_max is \"x\"");
  expect_refused(conform_delayed, changed("delayed_scaling.json", "\"max\"", "\"mean\""),
                 "expected max or most_recent");
  expect_refused(conform_delayed, changed("delayed_scaling.json", "\"history_len\": 3", "\"history_len\": 0"),
                 "history_len");
  expect_refused(conform_quantised, changed("quantize_cases.json", "\"current\"", "\"recent\""), "/cases/0");
  expect_refused(conform_quantised, changed("quantize_cases.json", "\"rows\": 16", "\"rows\": 99999999"),
                 "2^24");
  expect_refused(conform_dot_products, changed("gemm_accumulator.json", "\"k\": 32", "\"k\": 33"),
                 "expected 33 codes");
}

TEST_F(WrongFile, OthersAreNotRecognised) {
  std::ofstream(folder_ / "a.csv") << "x,y\n1,2\n";
  std::ofstream(folder_ / "a.json") << "{\"cases\": []}";
  EXPECT_FALSE(conform_casts(folder_ / "a.csv"));
  EXPECT_FALSE(conform_scales(folder_ / "a.csv"));
  EXPECT_FALSE(conform_delayed(folder_ / "a.json"));
  EXPECT_FALSE(conform_quantised(folder_ / "a.json"));
  EXPECT_FALSE(conform_dot_products(folder_ / "a.json"));
  EXPECT_FALSE(conform_cast_planes(folder_ / "a.bin"));
}

}  // namespace
}  // namespace shardcheck
