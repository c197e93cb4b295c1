// Numbers and counts as people read them.
#include "tools/shardcheck/wording.h"

#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"

namespace shardcheck {
namespace {

TEST(Wording, ThousandsAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-120000), "-120,000");
  EXPECT_EQ(grouped(-100), "-100");
}

TEST(Wording, NounsAreCounted) {
  EXPECT_EQ(counted(1, "microbatch"), "1 microbatch");
  EXPECT_EQ(counted(2, "microbatch"), "2 microbatches");
  EXPECT_EQ(counted(2, "try"), "2 tries");
  EXPECT_EQ(counted(0, "property"), "0 properties");
  EXPECT_EQ(counted(1200, "case"), "1,200 cases");
}

TEST(Wording, RanksOfAPipelineAreThoseOfAStage) {
  Scenario s;
  s.ranks = 4;
  EXPECT_EQ(ranks_text(s), "4 ranks");
  s.stages = 2;
  EXPECT_EQ(ranks_text(s), "2 stages of 4 ranks");
}

TEST(Wording, ConsecutiveClausesAreARun) {
  EXPECT_EQ(clauses_text(std::vector<std::string_view>{"W4", "W17", "W35"}), "W4 W17 W35");
  EXPECT_EQ(clauses_text(std::vector<std::string_view>{"W24", "W25"}), "W24 W25");
  EXPECT_EQ(clauses_text(std::vector<std::string_view>{"L1", "L2", "L3", "L5", "L6", "F7"}),
            "L1..L3 L5 L6 F7");
  EXPECT_EQ(clauses_text({}), "");
}

TEST(Wording, SecondsKeepTwoDigits) {
  EXPECT_EQ(seconds_text(0.0042), "0.004 s");
  EXPECT_EQ(seconds_text(1.94), "1.9 s");
  EXPECT_EQ(seconds_text(41.4), "41 s");
  EXPECT_EQ(seconds_text(200), "3 min 20 s");
}

TEST(Wording, TheShellReadsBackWhatWasMeant) {
  EXPECT_EQ(shell_quoted("a/b.json"), "a/b.json");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace shardcheck
