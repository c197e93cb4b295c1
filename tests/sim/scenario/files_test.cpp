#include "core/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using tests::sentence_of;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("shardcheck-files-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }
  std::filesystem::path folder_;
};

TEST_F(Files, ReadsWhatWasWrittenAndLeavesNothingBeside) {
  const std::string text("a\0b\n", 4);
  write_text_atomically(folder_ / "x", "first");
  write_text_atomically(folder_ / "x", text);
  EXPECT_EQ(read_text(folder_ / "x", 4), text);
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AFileLargerThanTheLimitIsRefused) {
  write_text_atomically(folder_ / "x", "12345");
  EXPECT_NE(sentence_of([&] { read_text(folder_ / "x", 4); }).find("larger than 4 bytes"), std::string::npos);
}

TEST_F(Files, AnEndlessDeviceIsReadNoFurtherThanTheLimit) {
  EXPECT_NE(sentence_of([] { read_text("/dev/zero", 100); }).find("larger than 100 bytes"),
            std::string::npos);
}

TEST_F(Files, MissingFilesAndFoldersAreBadInputWithTheReason) {
  EXPECT_NE(sentence_of([&] { read_text(folder_ / "none", 9); }).find("none: cannot read: No such file"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { read_text(folder_, 9); }).find("Is a directory"), std::string::npos);
}

TEST_F(Files, AFailedWriteNamesThePathAndLeavesNothing) {
  std::filesystem::create_directories(folder_ / "taken" / "inside");
  for (const auto& path : {folder_ / "taken", folder_ / "none" / "x"}) {
    try {
      write_text_atomically(path, "text");
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::machine_cannot);
      EXPECT_EQ(std::string(error.what()).find(path.string() + ": cannot write: "), 0u) << error.what();
    }
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, ADeviceIsWrittenInPlace) {
  write_text_atomically("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(Files, AFullDiskIsNotMissed) {
  EXPECT_THROW(write_text_atomically("/dev/full", "text"), Error);
}

}  // namespace
}  // namespace shardcheck
