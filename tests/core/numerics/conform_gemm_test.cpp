// Damaged recordings end in a sentence of the kind bad_input; a wrong bit is found and told.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/core/numerics/golden.h"
#include "tools/shardcheck/conform/conform.h"

namespace shardcheck {
namespace {

/// One bf16 case of 1 x 1 x 1: A = 1, B = 1, C = 0, D = 1.
constexpr const char* kCase =
    R"({"cases": [{"id": 7, "a": "bf16", "b": "bf16", "d": "f32", "trans": "TN", "scale_a": null, "scale_b": null,
    "fast_accum": false, "alpha": 1, "beta": 0, "m": 1, "n": 1, "k": 1, "split_k": 1, "off_a": 0, "off_b": 2,
    "off_sa": 4, "len_sa": 0, "off_sb": 4, "len_sb": 0, "off_c": 4, "off_d": 8}]})";
constexpr std::string_view kData{"\x80\x3f\x80\x3f\0\0\0\0\0\0\x80\x3f", 12};

class ConformGemm : public ::testing::Test {
 protected:
  ConformGemm() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / (std::string("shardcheck_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  ~ConformGemm() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(std::string_view json, std::string_view data) const {
    std::ofstream(folder_ / "a.json", std::ios::binary) << json;
    std::ofstream(folder_ / "a.bin", std::ios::binary) << data;
    return folder_ / "a.json";
  }

  void expect_refused(std::string_view json, std::string_view data, const std::string& part) const {
    try {
      conform_gemm(write(json, data));
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }

  std::filesystem::path folder_;
};

TEST_F(ConformGemm, AgreesAndDisagrees) {
  EXPECT_EQ(conform_gemm(write(kCase, kData))->agreements, 1);
  std::string wrong(kData);
  wrong[8] = 1;
  const auto report = conform_gemm(write(kCase, wrong));
  ASSERT_EQ(report->disagreements.size(), 1u);
  EXPECT_EQ(
      report->disagreements[0].sentence,
      "case 7, row 0, column 0: profile hopper expects 1 (0x3f800000), recorded is 1.0000001 (0x3f800001); "
      "1 of 1 outputs differ");
  EXPECT_EQ(conform_gemm(write(replaced(kCase, "\"b\": \"bf16\"", "\"b\": \"f16\""), kData))->unsupported, 1);
}

TEST_F(ConformGemm, OtherContentIsNotARecording) {
  EXPECT_FALSE(conform_gemm(write("{}", "")).has_value());
  EXPECT_FALSE(conform_gemm(write("[1, 2]", "")).has_value());
  EXPECT_FALSE(conform_gemm(golden::path("fp8/gemm_accumulator.json")).has_value());
}

TEST_F(ConformGemm, DamageIsASentence) {
  expect_refused("", kData, "is not JSON");
  expect_refused(std::string_view("\0\xff\x01", 3), kData, "is not JSON");
  expect_refused(std::string(1'000'000, '['), kData, "is not JSON");
  expect_refused(std::string(kCase).substr(0, 100), kData, "is not JSON");
  expect_refused(kCase, kData.substr(0, 11), "outside the data file of 11 bytes");
  expect_refused(replaced(kCase, "\"off_a\": 0", "\"off_a\": -1"), kData, "\"off_a\" is -1");
  expect_refused(replaced(kCase, "\"off_a\": 0", "\"off_a\": 99"), kData, "outside the data file");
  expect_refused(replaced(kCase, "\"m\": 1", "\"m\": \"1\""), kData, "\"m\" is \"1\"");
  expect_refused(replaced(kCase, "\"m\": 1", "\"m\": 1.5"), kData, "\"m\" is 1.5");
  expect_refused(replaced(kCase, "\"m\": 1", "\"m\": 18446744073709551615"), kData,
                 "\"m\" is 18446744073709551615");
  expect_refused(replaced(kCase, "\"m\": 1", "\"m\": 2000000000"), kData, "outside the data file");
  expect_refused(replaced(kCase, "\"scale_a\": null", "\"scale_a\": \"tensor\""), kData, "needs 1 scales");
  expect_refused(replaced(kCase, "\"beta\": 0", "\"beta\": 0.5"), kData, "expected 0 or 1");
  expect_refused(replaced(kCase, "\"a\": \"bf16\"", "\"a\": \"int8\""), kData, "expected bf16");
  expect_refused(replaced(kCase, "\"id\": 7, ", ""), kData, "has no field \"id\"");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_refused(replaced(kCase, "\"m\": 1", "\"m\": " + deep), kData, "\"m\" is an array");
}

TEST_F(ConformGemm, MissingFiles) {
  EXPECT_THROW(conform_gemm(folder_ / "absent.json"), Error);
  EXPECT_THROW(conform_gemm(folder_), Error);
  const auto json = write(kCase, kData);
  std::filesystem::remove(folder_ / "a.bin");
  EXPECT_THROW(conform_gemm(json), Error);
}

}  // namespace
}  // namespace shardcheck
