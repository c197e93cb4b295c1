// The layout laws as a property: quirks are situations, faults are findings, and shrinking ends.
#include "properties/layout_laws/layout_case.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/zoo.h"
#include "properties/runner.h"

namespace shardcheck::laws {
namespace {

const Property& property() {
  return *find_property("layout-laws");
}

RunOptions options_of(std::int64_t cases) {
  RunOptions options{.seed = 3, .cases = cases, .threads = 2};
  options.make_backend = [] { return make_cpu_backend({}); };
  return options;
}

TEST(LayoutCase, TheFirstCasesShowEveryQuirk) {
  const auto backend = make_cpu_backend({});
  for (std::size_t i = 0; i < quirks().size(); ++i) {
    const JudgedCase judged = judge_layout_case(*backend, *layout_kind().draw({1, i}));
    EXPECT_TRUE(judged.findings.empty());
    const std::size_t own = layout_situations().size() - quirks().size() + i;
    EXPECT_NE(std::ranges::find(judged.situations, own), judged.situations.end()) << layout_situations()[own];
  }
}

TEST(LayoutCase, ThreeThousandCasesHoldAndReachEverySituation) {
  const PropertyReport report = run_random(property(), options_of(3000));
  EXPECT_FALSE(report.failure) << to_json(report.failure->shrunk);
  EXPECT_TRUE(report.missing.empty()) << report.missing.front();
  EXPECT_EQ(report.cases, 3000);
}

TEST(LayoutCase, AFaultIsJudgedByItsLawFirst) {
  const auto backend = make_cpu_backend({});
  for (const LayoutFault& fault : layout_zoo()) {
    const LayoutCase c({.asked = fault.model(), .fault = std::string(fault.id)});
    const JudgedCase judged = judge_layout_case(*backend, c);
    ASSERT_FALSE(judged.findings.empty()) << fault.id;
    EXPECT_EQ(judged.findings.front().clause, fault.law);
    EXPECT_TRUE(c.smaller().empty());
  }
}

/// Breaks a law on any model with a dimension of 3 or more on 3 or more ranks.
JudgedCase no_large_dimension(Backend&, const shardcheck::Case& c) {
  const Asked& asked = static_cast<const LayoutCase&>(c).value().asked;
  const bool large = std::ranges::any_of(asked.parameters, [](const auto& p) {
    return std::ranges::any_of(p.shape, [](std::int64_t extent) { return extent >= 3; });
  });
  if (!large || asked.mesh.ranks() < 3) return {};
  return {.findings = {Finding{.clause = "L1", .sentence = "planted"}}};
}

TEST(LayoutCase, AFailureIsShrunkToTheLeast) {
  Property planted = property();
  planted.judge = no_large_dimension;
  const PropertyReport report = run_random(planted, options_of(3000));
  ASSERT_TRUE(report.failure);
  const auto smallest = layout_kind().read(report.failure->shrunk.json, "shrunk");
  const Case& c = static_cast<const LayoutCase&>(*smallest).value();
  ASSERT_EQ(c.asked.parameters.size(), 1u);
  EXPECT_EQ(c.asked.mesh.ranks(), 3);
  EXPECT_EQ(*std::ranges::max_element(c.asked.parameters[0].shape), 3);
  EXPECT_FALSE(c.moved_to);
  EXPECT_GT(report.failure->tries, 0);
  EXPECT_EQ(report.failure->findings.front().sentence, "planted");
}

TEST(LayoutCase, AFindingSaysItsNumbersInDecimalAndHex) {
  const Finding finding = finding_of(
      {.law = "L3", .sentence = "a shard is short", .layout = "zero12-flat", .expected = 16, .actual = 15});
  EXPECT_EQ(finding.sentence, "zero12-flat: a shard is short; expected 16 (0x10), got 15 (0xf)");
}

}  // namespace
}  // namespace shardcheck::laws
