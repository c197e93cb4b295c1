// Reading traces: recorded ones come back, and every kind of damage is a sentence.
#include "properties/audit/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/error.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A copy of a recorded trace that a test may damage.
class DamagedTrace : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shardcheck-trace-" + std::to_string(::getpid()) + "-" +
                                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::copy(fs::path(SHARDCHECK_TEST_DATA) / "audit" / "ddp-silent", folder_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string refusal() const {
    try {
      read_trace(folder_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.what();
    }
    return "";
  }
  void replace(const char* file, const std::string& from, const std::string& to) const {
    std::string text = text_of(folder_ / file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(folder_ / file, text.replace(at, from.size(), to));
  }
  fs::path folder_;
};

TEST_F(DamagedTrace, AWholeOneIsRead) {
  const AuditTrace trace = read_trace(folder_);
  ASSERT_EQ(trace.ranks.size(), 2u);
  EXPECT_EQ(trace.audited.adapter.name, "ddp");
  EXPECT_EQ(trace.rate, 0.25);
  EXPECT_EQ(trace.ranks[0].outcome, Outcome::finished);
  EXPECT_FALSE(trace.ranks[1].collectives.empty());
  EXPECT_TRUE(trace.ranks[1].collectives[0].completed);
  EXPECT_TRUE(trace.versions.contains("torch"));
}

TEST_F(DamagedTrace, ARankThatIsMissingIsNamed) {
  fs::remove(folder_ / "rank-1.json");
  EXPECT_NE(refusal().find("rank-1.json: is missing"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, TensorsThatAreMissingAreNamed) {
  fs::remove(folder_ / "rank-0.safetensors");
  EXPECT_NE(refusal().find("rank-0.safetensors: is missing"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, ATruncatedFileIsNamed) {
  const std::string json = text_of(folder_ / "rank-0.json");
  write(folder_ / "rank-0.json", json.substr(0, json.size() / 2));
  EXPECT_NE(refusal().find("rank-0.json: is truncated"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, TruncatedTensorsAreNamed) {
  const std::string data = text_of(folder_ / "rank-1.safetensors");
  write(folder_ / "rank-1.safetensors", data.substr(0, data.size() - 4));
  EXPECT_NE(refusal().find("rank-1.safetensors"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, AnotherSchemaIsNamed) {
  replace("manifest.json", "\"schema\": 1", "\"schema\": 7");
  EXPECT_NE(refusal().find("schema version 7 is unknown"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, AnotherNumberOfRanksIsNamed) {
  replace("manifest.json", "\"ranks\": 2,", "\"ranks\": 3,");
  EXPECT_NE(refusal().find("says 3 ranks, and its scenario has 2"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, ATensorOutsideItsParameterIsNamed) {
  replace("rank-0.json", "\"first\": 0", "\"first\": 5");
  EXPECT_NE(refusal().find("has the wrong shape"), std::string::npos) << refusal();
}

TEST_F(DamagedTrace, WhatIsNoFolderIsNamed) {
  fs::remove_all(folder_);
  EXPECT_NE(refusal().find("is no folder"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace shardcheck
