// Words about a value of a JSON text.
#include "sim/scenario/json_field.h"

#include <gtest/gtest.h>

namespace shardcheck::json_field {
namespace {

TEST(JsonField, AValueStandsOnOneShortLine) {
  EXPECT_EQ(shown(json(3)), "3");
  EXPECT_EQ(shown(json("a\nb")), "\"a\\nb\"");
  EXPECT_EQ(shown(json::array({1, 2})), "a list of 2");
  EXPECT_EQ(shown(json::object()), "an object");
  EXPECT_EQ(shown(json(std::string(100, 'x'))).size(), 63u);
  EXPECT_EQ(shown_key("a\"b"), "a\\\"b");
}

TEST(JsonField, TheNearestNameIsAFewLettersAway) {
  EXPECT_EQ(nearest("recpie", {"history", "recipe", "masters"}), "recipe");
  EXPECT_EQ(nearest("", {"ab", "c"}), "c");
}

TEST(JsonField, AFieldFailsWithPathValueAndWhatIsRight) {
  const json root = {{"n", 7}, {"b", "yes"}};
  const std::string where = "f.json";
  const Field field(root, "", where);
  try {
    field.at("n").integer({0, 5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f.json: n: 7 is out of range; give 0 to 5");
  }
  try {
    field.at("b").truth();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f.json: b: \"yes\" is not true or false");
  }
  EXPECT_FALSE(field.find("absent").has_value());
}

}  // namespace
}  // namespace shardcheck::json_field
