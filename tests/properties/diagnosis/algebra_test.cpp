// The algebra follows an element without running anything. Here it is held against the backend: at every op
// that writes the element, on every rank, the number is the predicted one, and its digits are the predicted
// contributions.
#include "properties/diagnosis/algebra.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "properties/diagnosis/contents.h"
#include "properties/diagnosis/history.h"
#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

TEST(Algebra, PredictsEveryWriteOfEveryJob) {
  const auto cpu = test::backend();
  const auto scenarios = test::jobs();
  EXPECT_GT(scenarios.size(), 100u);
  std::int64_t compared = 0;
  for (const Scenario& s : scenarios) {
    for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
      const Finding finding{.clause = "W1", .rank = 1, .parameter = p, .element = 5};
      const Subject subject(s, finding, Poison::large);
      ASSERT_GE(subject.reader.value, 0);
      std::vector<Rank> ranks;
      for (std::int32_t r = 0; r < s.ranks; ++r) ranks.push_back(Rank{r});
      const Combination all{.is_known = false};  // from the begin of the plan
      for (const ByteEvent& event : observe(subject, ranks, all, *cpu).events) {
        ASSERT_TRUE(event.predicted.is_known) << event.op_text << describe(s);
        ASSERT_TRUE(same_number(event.predicted.value, event.value.value))
            << event.predicted.value << " is not " << to_text(event) << describe(s);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 5000);
}

TEST(Algebra, ItsTermsAreTheDigitsOfTheNumber) {
  const auto cpu = test::backend();
  std::int64_t compared = 0;
  for (const Scenario& s : test::jobs()) {
    if (s.data != DataMode::provenance) continue;
    const Subject subject(s, {.clause = "W1", .rank = 0, .parameter = 0, .element = 1}, Poison::quiet_nan);
    const Rank reader[] = {subject.reader};
    for (const ByteEvent& event : observe(subject, reader, {}, *cpu).events) {
      Combination visible = event.predicted;
      std::erase_if(visible.terms, [&](const Term& t) { return !is_visible(subject, t.contribution); });
      if (visible.undefined != 0 || visible.terms.empty()) continue;
      const double scale = visible.terms.front().weight;
      const bool one_scale =
          std::ranges::all_of(visible.terms, [&](const Term& t) { return t.weight == scale; });
      if (!one_scale) continue;
      const auto sum = decoded(subject, event.value.value, scale, subject.reader);
      ASSERT_TRUE(sum) << to_text(event);
      ASSERT_EQ(sum->terms, visible.terms) << to_text(event);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

TEST(Algebra, FollowsABillionElementsWithoutTouchingThem) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {65536, 65536};
  const ScenarioData data(s);
  const Planned planned = rewritten_plan(s, Poison::quiet_nan);
  double last = 0;
  follow(planned, s, data, {ParamId{0}, (std::int64_t{1} << 32) - 1},
         [&](const ElementWrite& write) { last = write.after.value; });
  EXPECT_NE(last, 0);
}

}  // namespace
}  // namespace shardcheck
