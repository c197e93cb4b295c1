#include "properties/owner_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "properties/generate/random_scenario.h"

namespace shardcheck {
namespace {

TEST(OwnerRowCoverage, RandomTrainingStepsTakeEveryRow) {
  std::map<std::size_t, int> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Draw draw(seed, 4);
    for (const std::size_t row : owner_rows_of(random_scenario(draw, Focus::owners))) ++seen[row];
  }
  for (std::size_t row = 0; row < owner_row_names().size(); ++row)
    EXPECT_GE(seen[row], 5) << owner_row_names()[row];
}

TEST(OwnerRowCoverage, NamesTheRowsOfOneStrategyOnly) {
  Scenario s;
  s.strategy = Strategy::deepspeed_2;
  s.write_mode = WriteMode::r7;
  s.parameters = {{.name = "w0", .shape = {4, 32}}};
  s.uses = {{.parameter = 0}};
  const auto reached = owner_rows_of(s);
  EXPECT_FALSE(reached.empty());
  for (const std::size_t row : reached)
    EXPECT_EQ(owner_row_names()[row].rfind("deepspeed-2 ", 0), 0u) << owner_row_names()[row];
}

}  // namespace
}  // namespace shardcheck
