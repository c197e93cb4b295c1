// A file is there whole or not at all.
#include "core/checkpoint/new_file.h"

#include <gtest/gtest.h>

#include "core/checkpoint/data_file.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

void fill(const NewFile& file) {
  DataFile data = DataFile::create(file.path());
  data.append(std::as_bytes(std::span("new", 3)));
  data.finish();
}

TEST(NewFile, TakesThePlaceInOneStep) {
  const TempFolder folder;
  const auto place = folder.file("x", "old");
  {
    NewFile file(place);
    fill(file);
    EXPECT_EQ(DataFile::open(place).bytes(), 3);
    EXPECT_NE(names_in(folder.path()), "x");
    file.put_in_place();
  }
  EXPECT_EQ(names_in(folder.path()), "x");
  std::vector<std::byte> text(3);
  DataFile::open(place).read(0, text);
  EXPECT_EQ(text[0], std::byte{'n'});
}

TEST(NewFile, LeavesNothingWhenItIsNotPutInPlace) {
  const TempFolder folder;
  { fill(NewFile(folder.path() / "x")); }
  EXPECT_EQ(names_in(folder.path()), "");
}

TEST(NewFile, APlaceThatIsAFolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "x");
  NewFile file(folder.path() / "x");
  fill(file);
  EXPECT_NE(sentence_of([&] { file.put_in_place(); }).find("cannot write"), std::string::npos);
}

}  // namespace
}  // namespace shardcheck::checkpoint
