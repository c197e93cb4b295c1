// Reads at any place, appends, and says what the system says.
#include "core/checkpoint/data_file.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

TEST(DataFile, ReadsAtAnyPlaceAndNotBehindTheEnd) {
  const TempFolder folder;
  const DataFile file = DataFile::open(folder.file("f", "abcdef"));
  std::array<std::byte, 2> two{};
  file.read(3, two);
  EXPECT_EQ(two[0], std::byte{'d'});
  EXPECT_EQ(file.bytes(), 6);
  EXPECT_NE(sentence_of([&] { file.read(5, two); }).find("it ends at byte 6"), std::string::npos);
}

TEST(DataFile, CreatesOnce) {
  const TempFolder folder;
  DataFile file = DataFile::create(folder.path() / "new");
  file.append(std::as_bytes(std::span("xy", 2)));
  file.finish();
  EXPECT_EQ(DataFile::open(folder.path() / "new").bytes(), 2);
  EXPECT_NE(sentence_of([&] { DataFile::create(folder.path() / "new"); }).find("cannot write"),
            std::string::npos);
}

TEST(DataFile, AFullDiskIsSaid) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "full");
  EXPECT_NE(sentence_of([&] { DataFile::open(folder.path() / "full"); }).find("not a regular file"),
            std::string::npos);
}

}  // namespace
}  // namespace shardcheck::checkpoint
