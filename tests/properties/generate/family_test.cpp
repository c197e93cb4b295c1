#include "properties/generate/family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "properties/generate/soundness.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

TEST(Family, HoldsEveryScenario) {
  std::int64_t visited = 0;
  for (const Scenario& cell : family_cells(2))
    each_of_cell(cell, [&](const Scenario&) { return ++visited > 0; });
  // 6 strategies x 4 designs, and 5 under R7 and R8 alone, x 4 ways to count the loss. With one parameter 6
  // orders of uses have one, with two 14 use the first and 7 do not, as one order of each has no use at all.
  // The first is silent in any of 2^1 + 2 * 2^2 + 2^4 = 26 sets of places over the four meshes, else there
  // are only the four meshes.
  EXPECT_EQ(visited, (6 * 4 + 5 * 2) * 4 * ((6 + 14) * 26 + (1 + 7) * 4));
}

TEST(Family, HoldsNoScenarioTwice) {
  const auto cells = family_cells(2);
  std::set<std::string> heads, members;
  for (const Scenario& cell : cells) heads.insert(to_json(cell));
  EXPECT_EQ(heads.size(), cells.size());
  const auto& largest = *std::ranges::find_if(
      cells, [](const Scenario& s) { return s.ranks == 2 && s.microbatches == 2 && !s.uses.empty(); });
  each_of_cell(largest, [&](const Scenario& s) { return members.insert(to_json(s)).second; });
  EXPECT_EQ(members.size(), 4u * 16u);
}

TEST(Family, IsValidAndSound) {
  for (const Scenario& cell : family_cells(2)) {
    each_of_cell(cell, [&](const Scenario& s) {
      EXPECT_NO_THROW(validate(s, "family"));
      EXPECT_TRUE(is_sound(s));
      return true;
    });
  }
}

TEST(Family, VisitEndsWhenToldTo) {
  std::int64_t visited = 0;
  each_of_cell(family_cells(1).back(), [&](const Scenario&) { return ++visited < 3; });
  EXPECT_EQ(visited, 3);
}

}  // namespace
}  // namespace shardcheck
