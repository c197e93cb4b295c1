// Every row that a plan takes stands in the table of its strategy.
#include "sim/owners/rows.h"

#include <gtest/gtest.h>

#include <set>

#include "properties/generate/random_scenario.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

TEST(OwnerRows, StandOnceInTheTableOfTheirStrategy) {
  std::set<std::pair<Strategy, Row>> seen;
  std::set<std::string> sentences;
  for (const OwnerRow& row : owner_rows()) {
    EXPECT_TRUE(seen.emplace(row.strategy, row.row).second) << describe(row);
    EXPECT_TRUE(sentences.insert(describe(row)).second) << describe(row);
    EXPECT_FALSE(row.state.empty() || row.event.empty() || row.effect.empty());
  }
  for (int s = 0; s < kStrategies; ++s)
    EXPECT_TRUE(seen.contains({static_cast<Strategy>(s), Row::finish})) << "every owner ends its steps";
}

TEST(OwnerRows, RandomPlansTakeNoRowThatTheTableOfTheirStrategyLacks) {
  std::set<std::pair<Strategy, Row>> known;
  for (const OwnerRow& row : owner_rows()) known.emplace(row.strategy, row.row);
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed, 4);
    const Scenario s = random_scenario(draw, static_cast<Focus>(seed % 13));
    const RowSet taken = plan_of(s).rows;
    for (int r = 0; r < kRows; ++r) {
      if (taken.test(static_cast<std::size_t>(r))) {
        EXPECT_TRUE(known.contains({s.strategy, static_cast<Row>(r)})) << name_of(s.strategy) << " row " << r;
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck
