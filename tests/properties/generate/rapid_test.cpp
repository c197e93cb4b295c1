#include "properties/generate/rapid.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "properties/generate/complexity.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/shrinks.h"
#include "sim/scenario/json.h"

namespace shardcheck {
namespace {

bool never() {
  return false;
}

Search search_of(std::function<bool(const Scenario&)> holds) {
  return {.seed = 11,
          .cases = 200,
          .draw = [](Draw& draw) { return random_scenario(draw, Focus::any); },
          .holds = std::move(holds),
          .is_over = never};
}

TEST(Rapid, RunsAllCasesOfAPropertyThatHolds) {
  std::int64_t seen = 0;
  const SearchResult result = search(search_of([&](const Scenario&) { return ++seen > 0; }));
  EXPECT_EQ(result.cases, 200);
  EXPECT_EQ(seen, 200);
  EXPECT_FALSE(result.failing);
}

TEST(Rapid, TwoRunsOfASeedDrawTheSameToTheEnd) {
  const auto holds = [](const Scenario&) { return true; };
  const SearchResult once = search(search_of(holds)), again = search(search_of(holds));
  EXPECT_EQ(once.end_draw, again.end_draw);
  Search other = search_of(holds);
  other.seed = 12;
  EXPECT_NE(once.end_draw, search(other).end_draw);
}

TEST(Rapid, StopsAtTheFirstFailure) {
  std::int64_t seen = 0;
  const SearchResult result = search(search_of([&](const Scenario&) { return ++seen < 17; }));
  EXPECT_EQ(result.cases, 17);
  EXPECT_EQ(seen, 17);
  ASSERT_TRUE(result.failing);
}

TEST(Rapid, EndsWhenItIsOver) {
  std::int64_t seen = 0;
  Search stopped = search_of([&](const Scenario&) { return ++seen > 0; });
  stopped.is_over = [&] { return seen == 5; };
  EXPECT_EQ(search(stopped).cases, 5);
}

TEST(Rapid, WhatACaseThrowsComesOut) {
  std::int64_t seen = 0;
  EXPECT_THROW(search(search_of([&](const Scenario&) -> bool {
                 ++seen;
                 throw std::runtime_error("no GPU");
               })),
               std::runtime_error);
  EXPECT_EQ(seen, 1);
  Scenario failing;
  failing.parameters.push_back({.name = "w0", .shape = {2, 2}});
  EXPECT_THROW(smallest_failing(
                   failing, [](const Scenario&) -> bool { throw std::runtime_error("no GPU"); }, never),
               std::runtime_error);
}

bool has_tied_weight(const Scenario& s) {
  for (std::size_t a = 0; a < s.uses.size(); ++a) {
    for (std::size_t b = a + 1; b < s.uses.size(); ++b) {
      if (s.uses[a].parameter == s.uses[b].parameter) return true;
    }
  }
  return false;
}

TEST(Rapid, ShrinksAPlantedFailureToTheSmallestScenario) {
  const auto holds = [](const Scenario& s) { return s.ranks < 3 || !has_tied_weight(s); };
  Scenario expected;
  expected.parameters.push_back({.name = "w0", .shape = {1, 1}});
  expected.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  expected.ranks = 3;
  expected.steps = expected.microbatches = 1;
  expected.overlap = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Search planted = search_of(holds);
    planted.seed = seed;
    const SearchResult found = search(planted);
    ASSERT_TRUE(found.failing) << seed;
    const Smallest smallest = smallest_failing(*found.failing, holds, never);
    EXPECT_EQ(to_json(smallest.scenario), to_json(expected)) << seed;
    EXPECT_GT(smallest.tries, 0);
  }
}

TEST(Rapid, AnInterruptKeepsTheSmallestSoFar) {
  Draw draw(3);
  const Scenario failing = random_scenario(draw, Focus::repeated_uses);
  std::int64_t asked = 0;
  const auto holds = [&](const Scenario&) { return ++asked < 0; };
  const Smallest smallest = smallest_failing(failing, holds, [&] { return asked == 4; });
  EXPECT_EQ(smallest.tries, 4);
  EXPECT_LT(complexity_of(smallest.scenario), complexity_of(failing));
}

}  // namespace
}  // namespace shardcheck
