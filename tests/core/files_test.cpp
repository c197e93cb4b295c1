#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "core/error.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(::testing::TempDir()) / (std::string("shardcheck-files-") + test->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder), {}); }

  fs::path folder;
};

/// The Error that `act` throws; its kind is 0 when it throws none.
template <class Act>
std::pair<ErrorKind, std::string> error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

TEST_F(Files, WhatIsWrittenIsReadBack) {
  std::string text = "one\n\0two";
  text.append(200000, 'x');
  write_text_atomically(folder / "a", "old");
  write_text_atomically(folder / "a", text);
  EXPECT_EQ(read_text(folder / "a", 1 << 20), text);
  EXPECT_EQ(entries(), 1) << "nothing else is left";
  write_text_atomically(folder / "a", "");
  EXPECT_EQ(read_text(folder / "a", 0), "");
}

TEST_F(Files, AFileBeyondTheLimitIsRefused) {
  write_text_atomically(folder / "a", "12345");
  EXPECT_EQ(read_text(folder / "a", 5), "12345");
  const auto [kind, sentence] = error_of([&] { read_text(folder / "a", 4); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_EQ(sentence, (folder / "a").string() + ": the file is larger than 4 bytes, the most that is read");
}

TEST_F(Files, WhatCannotBeReadIsBadInput) {
  const auto missing = error_of([&] { read_text(folder / "none", 10); });
  EXPECT_EQ(missing.first, ErrorKind::bad_input);
  EXPECT_EQ(missing.second, (folder / "none").string() + ": cannot read: No such file or directory");
  EXPECT_EQ(error_of([&] { read_text(folder, 10); }).second,
            folder.string() + ": cannot read: Is a directory");
}

TEST_F(Files, AFailedWriteLeavesNothingBehind) {
  fs::create_directory(folder / "a");
  for (const fs::path& path : {folder / "a", folder / "none" / "b"}) {
    const auto [kind, sentence] = error_of([&] { write_text_atomically(path, "text"); });
    EXPECT_EQ(kind, ErrorKind::machine_cannot);
    EXPECT_TRUE(sentence.starts_with(path.string() + ": cannot write: ")) << sentence;
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, APipeIsWrittenInPlace) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_text(pipe, 100); });
  write_text_atomically(pipe, "through the pipe");
  reader.join();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Files, WritersOfOneFileDoNotMix) {
  const auto write = [&](char c) {
    for (int i = 0; i < 50; ++i) write_text_atomically(folder / "a", std::string(5000, c));
  };
  std::thread other(write, 'a');
  write('b');
  other.join();
  const std::string text = read_text(folder / "a", 1 << 20);
  EXPECT_TRUE(text == std::string(5000, 'a') || text == std::string(5000, 'b'));
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace shardcheck
