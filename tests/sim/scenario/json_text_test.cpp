#include "sim/scenario/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

std::string refusal(const std::string& text) {
  return tests::sentence_of([&] { check_json_text(text, "f.json"); });
}

TEST(JsonText, EmptyTextsAreRefused) {
  for (const char* text : {"", " ", "\n\t\r\n"})
    EXPECT_EQ(refusal(text), "f.json: the file is empty; give a scenario as a JSON object");
}

TEST(JsonText, BinaryIsRefused) {
  EXPECT_EQ(refusal(std::string("{}\0", 3)), "f.json: byte 2 is NUL, so this is no text; give a JSON file");
}

TEST(JsonText, OnlyUtf8Passes) {
  for (const char* good : {"\"A\"", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xEF\xBB\xBF{}"})
    EXPECT_EQ(refusal(good), "") << good;
  for (const char* bad :
       {"\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82", "\xE2\x82(",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF0\x90\x80(", "\xF5\x80\x80\x80", "\xFF"})
    EXPECT_NE(refusal(bad).find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(refusal("{\"\xFF\"}"), "f.json: byte 2 (0xff) is not UTF-8; save the file as UTF-8");
}

TEST(JsonText, NestingIsLimited) {
  const std::string deepest(kMaxJsonDepth, '[');
  EXPECT_EQ(refusal(deepest), "");
  EXPECT_EQ(refusal(deepest + "{"),
            "f.json: brackets nest deeper than 16 at byte 16; a scenario nests 4 deep");
  EXPECT_NE(refusal(std::string(kMaxJsonBytes, '[')).find("nest deeper"), std::string::npos);
}

TEST(JsonText, BracketsInTextsAndBesideEachOtherDoNotNest) {
  EXPECT_EQ(refusal("\"\\\"" + std::string(100, '[') + "\""), "");
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "[]{}";
  EXPECT_EQ(refusal(wide), "");
  EXPECT_EQ(refusal("]]]}}}"), "");  // the parser's to refuse
}

TEST(JsonText, SizeIsLimited) {
  EXPECT_EQ(refusal(std::string(kMaxJsonBytes, '1')), "");
  EXPECT_EQ(refusal(std::string(kMaxJsonBytes + 1, '[')),
            "f.json: the text has 16777217 bytes; at most 16777216 are read");
}

}  // namespace
}  // namespace shardcheck
