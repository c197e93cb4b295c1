// Colour only where it is wanted; words wrapped under their label.
#include "tools/shardcheck/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

namespace shardcheck {
namespace {

TEST(Terminal, AStringIsNone) {
  const std::ostringstream stream;
  EXPECT_FALSE(terminal_of(stream).is_terminal);
  EXPECT_EQ(paint(terminal_of(stream), Tone::bad, "x"), "x");
}

TEST(Terminal, ATonePaintsAndEnds) {
  EXPECT_EQ(paint({.has_colour = true}, Tone::good, "held"), "\x1b[32mheld\x1b[0m");
  EXPECT_EQ(paint({.has_colour = true}, Tone::plain, "held"), "held");
}

TEST(Terminal, WordsWrapUnderTheIndent) {
  EXPECT_EQ(wrap("one two three", {.width = 9, .indent = 2}), "one two\n  three");
  EXPECT_EQ(wrap("a-word-that-is-too-long b", {.width = 9, .indent = 2}), "a-word-that-is-too-long\n  b");
  EXPECT_EQ(wrap("one  two", {.width = 9, .indent = 2}), "one two");
  EXPECT_EQ(wrap("\x1b[1mone two\x1b[0m three", {.width = 9, .indent = 2}), "\x1b[1mone two\x1b[0m\n  three");
  EXPECT_EQ(wrap("", {.width = 9, .indent = 2}), "");
}

}  // namespace
}  // namespace shardcheck
