#include "properties/runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/registry.h"
#include "sim/scenario/json.h"

namespace shardcheck {
namespace {

RunOptions options_of(std::int64_t cases, std::int32_t threads) {
  RunOptions options;
  options.seed = 42;
  options.cases = cases;
  options.threads = threads;
  options.make_backend = [] { return make_backend("cpu", {.profile = "ideal"}); };
  return options;
}

bool is_tied(const Scenario& s) {
  return std::ranges::any_of(s.uses, [&](const ScenarioUse& use) {
    return std::ranges::count(s.uses, use.parameter, &ScenarioUse::parameter) > 1;
  });
}

std::vector<Finding> holds(Backend&, const Scenario&) {
  return {};
}
std::vector<Finding> no_three_silent_ranks_with_ties(Backend&, const Scenario& s) {
  const bool broken = s.ranks >= 3 && is_tied(s) && s.silent.size() > 2;
  return broken ? std::vector<Finding>{{.clause = "W4"}, {.clause = "W7"}} : std::vector<Finding>{};
}
Property property_of(std::vector<Finding> (*check)(Backend&, const Scenario&)) {
  return {.id = "planted", .sentence = "nothing fails", .clauses = {"W4"}, .check = check};
}

TEST(Runner, CountsCasesAndSituations) {
  const PropertyReport report = run_random(property_of(holds), options_of(2100, 1));
  EXPECT_EQ(report.cases, 2100);
  EXPECT_FALSE(report.failure);
  EXPECT_FALSE(report.interrupted);
  EXPECT_TRUE(report.missing.empty());
  EXPECT_GT(report.coverage.at("tied weight"), 500);
}

TEST(Runner, TheResultDoesNotDependOnThreads) {
  const Property planted = property_of(no_three_silent_ranks_with_ties);
  const PropertyReport one = run_random(planted, options_of(20000, 1));
  ASSERT_TRUE(one.failure);
  for (const std::int32_t threads : {2, 4}) {
    const PropertyReport many = run_random(planted, options_of(20000, threads));
    ASSERT_TRUE(many.failure);
    EXPECT_EQ(many.cases, one.cases);
    EXPECT_EQ(many.coverage, one.coverage);
    EXPECT_EQ(many.failure->number, one.failure->number);
    EXPECT_EQ(many.failure->tries, one.failure->tries);
    EXPECT_EQ(many.failure->first, one.failure->first);
    EXPECT_EQ(many.failure->shrunk, one.failure->shrunk);
  }
  EXPECT_EQ(one.failure->number, one.cases);
  EXPECT_EQ(one.failure->shrunk.scenario.ranks, 3);
  EXPECT_EQ(one.failure->shrunk.scenario.uses.size(), 2u);
  EXPECT_EQ(one.failure->shrunk.scenario.silent.size(), 3u);
}

TEST(Runner, SeedsDiffer) {
  RunOptions other = options_of(20000, 1);
  other.seed = 43;
  const Property planted = property_of(no_three_silent_ranks_with_ties);
  EXPECT_NE(run_random(planted, other).failure->first,
            run_random(planted, options_of(20000, 1)).failure->first);
}

TEST(Runner, OnlyFindingsOfTheClauseCount) {
  RunOptions options = options_of(20000, 1);
  options.clause = "W7";
  const PropertyReport report = run_random(property_of(no_three_silent_ranks_with_ties), options);
  ASSERT_TRUE(report.failure);
  ASSERT_EQ(report.failure->findings.size(), 1u);
  EXPECT_EQ(report.failure->findings[0].clause, "W7");
  options.clause = "W9";
  EXPECT_FALSE(run_random(property_of(no_three_silent_ranks_with_ties), options).failure);
}

TEST(Runner, AnInterruptEndsEarly) {
  std::atomic<bool> stop = false;
  RunOptions options = options_of(1000000, 2);
  options.stop = &stop;
  options.progress = [&](std::int64_t) { stop = true; };
  const PropertyReport report = run_random(property_of(holds), options);
  EXPECT_TRUE(report.interrupted);
  EXPECT_GT(report.cases, 0);
  EXPECT_LT(report.cases, 1000000);
}

TEST(Runner, AFaultIsSwitchedOnInEveryCaseAndCaught) {
  const Property* property = find_property("legal-beta");
  ASSERT_NE(property, nullptr);
  RunOptions options = options_of(500, 2);
  options.fault = "B-08";
  const PropertyReport report = run_random(*property, options);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->first.scenario.fault, "B-08");
  EXPECT_EQ(report.failure->shrunk.scenario.fault, "B-08");
  EXPECT_FALSE(report.failure->findings.empty());
}

TEST(Runner, EveryPropertyHoldsOnTheCpu) {
  for (const Property& property : properties()) {
    const PropertyReport report = run_random(property, options_of(500, 2));
    ASSERT_FALSE(report.failure) << property.id << ' ' << report.failure->findings.front().sentence << '\n'
                                 << to_json(report.failure->shrunk);
  }
}

TEST(Runner, ExhaustiveHoldsUpToTwo) {
  const PropertyReport report = run_exhaustive(*find_property("final-value"), 2, options_of(0, 2));
  EXPECT_FALSE(report.failure);
  EXPECT_GT(report.cases, 30000);
  EXPECT_GT(report.coverage.at("empty shard"), 0);
}

TEST(Runner, ExhaustiveFindsTheFirstInItsOrder) {
  const Property planted = property_of([](Backend&, const Scenario& s) {
    return s.ranks == 2 && is_tied(s) && !s.silent.empty() ? std::vector<Finding>{{.clause = "W4"}}
                                                           : std::vector<Finding>{};
  });
  const PropertyReport one = run_exhaustive(planted, 2, options_of(0, 1));
  const PropertyReport two = run_exhaustive(planted, 2, options_of(0, 2));
  ASSERT_TRUE(one.failure && two.failure);
  EXPECT_EQ(one.failure->first, two.failure->first);
  EXPECT_EQ(one.failure->number, two.failure->number);
}

TEST(Runner, OneGivenScenarioIsShrunk) {
  Scenario s;
  s.ranks = 8;
  s.parameters.push_back({.name = "embedding", .shape = {3, 9}});
  s.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  const Property planted = property_of([](Backend&, const Scenario& c) {
    return is_tied(c) ? std::vector<Finding>{{.clause = "W4"}} : std::vector<Finding>{};
  });
  const PropertyReport report = run_one(planted, counterexample_of(s), options_of(0, 1));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.cases, 1);
  EXPECT_EQ(report.failure->first.scenario, s);
  EXPECT_EQ(report.failure->shrunk.scenario.ranks, 1);
  s.uses.pop_back();
  EXPECT_FALSE(run_one(planted, counterexample_of(s), options_of(0, 1)).failure);
  Scenario large = s;
  large.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  large.parameters[0].shape = {512, 512};
  EXPECT_EQ(run_one(planted, counterexample_of(large), options_of(0, 1)).failure->shrunk.scenario, large);
}

TEST(Runner, ShrinkCountsItsTries) {
  Scenario s;
  s.ranks = 8;
  s.parameters.push_back({.name = "w0", .shape = {1, 9}});
  std::int64_t tries = 0;
  EXPECT_EQ(shrink(
                s, [](const Scenario& c) { return c.ranks >= 5; }, &tries)
                .ranks,
            5);
  EXPECT_GT(tries, 0);
}

}  // namespace
}  // namespace shardcheck
