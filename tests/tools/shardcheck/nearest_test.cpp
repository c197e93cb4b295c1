// Which known names a misspelt one probably means.
#include "tools/shardcheck/nearest.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

const std::vector<std::string> kKnown = {"legal-beta", "lease", "first-touch", "last-reduction"};

TEST(Nearest, FewEditsOrAPart) {
  EXPECT_EQ(nearest({"legal-bata", "property", kKnown, ""}), std::vector<std::string>{"legal-beta"});
  EXPECT_EQ(nearest({"LEASE", "property", kKnown, ""}), std::vector<std::string>{"lease"});
  EXPECT_EQ(nearest({"touch", "property", kKnown, ""}), std::vector<std::string>{"first-touch"});
  EXPECT_TRUE(nearest({"poison", "property", kKnown, ""}).empty());
  EXPECT_TRUE(nearest({"", "property", kKnown, ""}).empty());
}

TEST(Nearest, TheSentenceNamesAllWhereNoneIsNearAndTheyAreFew) {
  EXPECT_EQ(unknown_name({"poison", "property", kKnown, ""}),
            "\"poison\" is not a known property; known are \"legal-beta\", \"lease\", \"first-touch\", "
            "\"last-reduction\"");
  EXPECT_EQ(unknown_name({"leese", "property", kKnown, ""}),
            "\"leese\" is not a known property; did you mean \"lease\"?");
}

TEST(Nearest, TheSentenceEndsWithTheCommandThatListsThem) {
  EXPECT_EQ(
      unknown_name({"laese", "property", kKnown, "shardcheck list properties"}),
      "\"laese\" is not a known property; did you mean \"lease\"? `shardcheck list properties` lists them");
}

TEST(Nearest, AHugeWordIsCutAndNotCompared) {
  const std::string sentence = unknown_name({std::string(1'000'000, 'a'), "property", kKnown, ""});
  EXPECT_LT(sentence.size(), 300u);
}

}  // namespace
}  // namespace shardcheck
