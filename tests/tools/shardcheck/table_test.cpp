// Columns are aligned, the last one wraps, and no line ends in blanks.
#include "tools/shardcheck/table.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(TableText, ColumnsAreAligned) {
  Table table({"name", ">cases", "note"});
  table.row({"a", "1", "x"});
  table.row({"long", "1,000", ""});
  EXPECT_EQ(table.text({}), "name  cases  note\na         1  x\nlong  1,000\n");
}

TEST(TableText, TheLastColumnWraps) {
  Table table({"name", "note"});
  table.row({"a", "one two three four five six seven"});
  EXPECT_EQ(table.text({.width = 30}), "name  note\na     one two three four five\n      six seven\n");
}

}  // namespace
}  // namespace shardcheck
