// Sentences of the readers; duplicate names and depth are refused by the parser.
#include "core/checkpoint/json_guard.h"

#include <gtest/gtest.h>

#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

TEST(JsonGuard, NamesAreShownSafely) {
  EXPECT_EQ(shown("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(shown("\xff"), "\"\\ufffd\"");
  EXPECT_EQ(shown(std::string(200, 'x')).size(), 80u + 2 + 3);
}

TEST(JsonGuard, ReadsValues) {
  const JsonValue value = parse_object(R"({"b": {"n": 3}, "a": ["x", 2.5, -1]})", "f", 3);
  EXPECT_EQ(size_in(member(member(value, "b", "f"), "n", "f"), "f"), 3);
  const JsonValue& list = member(value, "a", "f");
  EXPECT_EQ(text_in(list.items[0], "f"), "x");
  EXPECT_EQ(sentence_of([&] { size_in(list.items[1], "f"); }),
            "f: \"2.5\" is not an integer from 0 to 2^63 - 1");
  EXPECT_EQ(sentence_of([&] { text_in(list.items[2], "f"); }), "f: it must be a string");
  EXPECT_EQ(sentence_of([&] { member(list, "n", "f"); }), "f: it must be an object");
}

TEST(JsonGuard, AnEmptyTensorMayHaveHugeExtents) {
  const JsonValue value = parse_object(R"({"s": [4294967296, 4294967296, 0]})", "f", 2);
  EXPECT_EQ(extents_in(member(value, "s", "f"), "f").numel, 0);
}

TEST(JsonGuard, OneNameMayOccurInTwoObjects) {
  EXPECT_EQ(sentence_of([] { parse_object(R"({"a": {"n": 1}, "b": {"n": 1}})", "f", 2); }), "");
  EXPECT_NE(sentence_of([] { parse_object(R"({"a": {"n": 1, "n": 1}})", "f", 2); }), "");
  EXPECT_NE(sentence_of([] { parse_object(R"({"a": 1e999})", "f", 2); }), "");
  EXPECT_NE(sentence_of([] { parse_object("{\"\xff\": 1}", "f", 2); }), "");
}

}  // namespace
}  // namespace shardcheck::checkpoint
