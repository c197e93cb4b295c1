// A folder appears whole, replaces an older one of its kind, and leaves everything else alone.
#include "core/checkpoint/folder.h"

#include <gtest/gtest.h>

#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

void put(const std::filesystem::path& place, const char* content) {
  NewFolder fresh(place, "mark");
  std::ofstream(fresh.path() / "mark") << content;
  fresh.put_in_place();
}

TEST(NewFolder, AppearsAndReplaces) {
  const TempFolder temp;
  put(temp.path() / "c", "old");
  put(temp.path() / "c" / "", "new");  // a trailing slash names the same folder
  std::string content;
  std::ifstream(temp.path() / "c" / "mark") >> content;
  EXPECT_EQ(content, "new");
  EXPECT_EQ(names_in(temp.path()), "c");
}

TEST(NewFolder, LeavesNothingWhenGivenUp) {
  const TempFolder temp;
  put(temp.path() / "c", "old");
  { NewFolder fresh(temp.path() / "c", "mark"); }
  EXPECT_EQ(names_in(temp.path()), "c");
  EXPECT_EQ(names_in(temp.path() / "c"), "mark");
}

TEST(NewFolder, RefusesWhatIsNotItsOwn) {
  const TempFolder temp;
  const auto refusal = [&](const std::filesystem::path& place) {
    return sentence_of([&] { NewFolder fresh(place, "mark"); });
  };
  temp.file("file", "x");
  EXPECT_NE(refusal(temp.path() / "file").find("not a folder"), std::string::npos);
  EXPECT_NE(refusal(temp.path()).find("holds other files"), std::string::npos);
  EXPECT_NE(refusal(temp.path() / "none" / "c").find("cannot write"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_EQ(names_in(temp.path()), "file");
}

}  // namespace
}  // namespace shardcheck::checkpoint
