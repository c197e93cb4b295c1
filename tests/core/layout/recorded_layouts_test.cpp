// The recorded layouts of tests/data/layouts, recomputed by the code of `shardcheck conform`, and what that
// code says of damaged files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.h"
#include "tools/shardcheck/conform/conform.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(SHARDCHECK_TEST_DATA) / "layouts";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file with that content in a folder of this process.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content)
      : path_(fs::path(testing::TempDir()) / (std::string(info()->name()) + "_" + name)) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  static const testing::TestInfo* info() { return testing::UnitTest::GetInstance()->current_test_info(); }
  fs::path path_;
};

/// The sentence of the error for a file with that content, or "" when it is accepted.
std::string complaint(const std::string& content) {
  const TemporaryFile file("damaged.jsonl", content);
  try {
    conform_layouts(file.path());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RecordedLayouts, EveryRecordedFieldAgrees) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kData)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    const auto report = conform_layouts(entry.path());
    ASSERT_TRUE(report.has_value()) << entry.path();
    EXPECT_GE(report->cases, 10);
    EXPECT_EQ(report->agreements, report->cases);
    EXPECT_EQ(report->unsupported, 0);
    for (const Disagreement& disagreement : report->disagreements) {
      ADD_FAILURE() << disagreement.case_id << " " << disagreement.sentence;
    }
  }
  EXPECT_EQ(files, 13);
}

TEST(RecordedLayouts, ADisagreementNamesFieldAndValues) {
  const std::string line = content_of(kData / "zero12-flat.jsonl");
  const auto at = line.find("\"size\":");
  const std::string size = line.substr(at, line.find(',', at) - at);
  const TemporaryFile file("changed.jsonl", replaced(line, size, "\"size\":12345"));
  const auto report = conform_layouts(file.path());
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->disagreements.size(), 1u);
  EXPECT_EQ(report->disagreements[0].sentence,
            fmt::format("output.buffers[0].size: expected 12345, recomputed {}", size.substr(7)));
}

TEST(RecordedLayouts, AnUnknownLayoutIsUnsupported) {
  const std::string content = content_of(kData / "zero12-flat.jsonl");
  const TemporaryFile file("unknown.jsonl",
                           replaced(content.substr(0, content.find('\n')), "\"layout\":\"zero12-flat\"",
                                    "\"layout\":\"zero4-flat\""));
  EXPECT_EQ(conform_layouts(file.path())->unsupported, 1);
}

TEST(RecordedLayouts, OtherContentIsNotRecordedLayouts) {
  for (const char* content : {"{\n  \"cases\": []\n}\n", "{\"cases\": []}\n"}) {
    const TemporaryFile file("other.json", content);
    EXPECT_FALSE(conform_layouts(file.path()).has_value()) << content;
  }
}

TEST(RecordedLayouts, DamagedFilesAreBadInputWithASentence) {
  const std::string content = content_of(kData / "zero12-flat.jsonl");
  const std::string line = content.substr(0, content.find('\n'));
  const auto says = [](const std::string& content, const std::string& part) {
    EXPECT_NE(complaint(content).find(part), std::string::npos) << complaint(content);
  };
  says("", "is empty");
  says(" \n\n", "is empty");
  says(std::string("\x7f"
                   "ELF\0\0\0",
                   7),
       "is binary");
  says(line + "\n" + line.substr(0, line.size() / 2), ":2: is not a JSON value");
  says(std::string(100000, '['), "nest deeper");
  says(std::string(100000, '[') + std::string(100000, ']'), "nest deeper");
  says(replaced(line, "\"world\":", "\"world\":-"), ":1: world is -");
  says(replaced(line, "\"shape\":[", "\"shape\":[\"x\","), "params[0].shape[0] is a value of type string");
  says(replaced(line, "\"shape\":[", "\"shape\":[4611686018427387904,4,"), "does not fit 64 bits");
  says(replaced(line, "\"dp\":", "\"dq\":"), "field config.dp is missing");
  says(replaced(line, "\"dp\":", "\"dp\":1"), "config.dp is 1");
  says(replaced(line, "\"output\":{", "\"output\":3,\"was\":{"), "output is 3; expected an object");
}

TEST(RecordedLayouts, AMissingFileIsBadInput) {
  EXPECT_THROW(conform_layouts(kData / "no-such-file.jsonl"), Error);
  EXPECT_THROW(conform_layouts(kData), Error);
}

}  // namespace
}  // namespace shardcheck
