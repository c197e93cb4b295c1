// The byte laws hold on the reference and break on collectives that are wrong, by the law that says so.
#include "properties/layout_bytes/layout_bytes.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "properties/layout_laws/layout_case.h"
#include "properties/runner.h"

namespace shardcheck {
namespace {

PropertyReport run_on(const std::string& backend, std::int64_t cases) {
  RunOptions options{.seed = 2, .cases = cases, .threads = 2};
  options.make_backend = [=] { return make_backend(backend, {.profile = "ideal"}); };
  return run_random(*find_property("layout-bytes"), options);
}

TEST(LayoutBytes, HoldOnTheReferenceInEverySituation) {
  const PropertyReport report = run_on("cpu", 3000);
  EXPECT_FALSE(report.failure) << report.failure->findings.front().sentence;
  EXPECT_TRUE(report.missing.empty()) << report.missing.front();
}

void expect_broken(const std::string& fault, const std::string& law) {
  const PropertyReport report = run_on("faulty:" + fault, 500);
  ASSERT_TRUE(report.failure) << fault;
  const Finding& finding = report.failure->findings.front();
  EXPECT_EQ(finding.clause, law) << finding.sentence;
  EXPECT_GE(finding.op.value, 0);
  EXPECT_GE(finding.element, 0);
  EXPECT_NE(finding.expected.bits, finding.actual.bits);
  const auto smallest = laws::layout_kind().read(report.failure->shrunk.json, "shrunk");
  const laws::Case& c = static_cast<const laws::LayoutCase&>(*smallest).value();
  EXPECT_EQ(c.asked.mesh.ranks(), 2) << smallest->describe();
  EXPECT_EQ(c.asked.parameters.size(), 1u) << smallest->describe();
}

TEST(LayoutBytes, AGatherInTheWrongOrderBreaksTheRoundTrip) {
  expect_broken("gather-backwards", "L13");
}

TEST(LayoutBytes, AForgottenRankBreaksLinearity) {
  expect_broken("skip-last-rank", "L15");
}

TEST(LayoutBytes, LayoutsWithoutEqualShardsMoveNothing) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  const laws::LayoutCase whole(
      {.asked = {"megatron-ddp-nopad", {{.name = "P0", .shape = {4, 4}}}, layout::mesh_of(2), {}}});
  const JudgedCase judged = judge_layout_bytes(*backend, whole);
  EXPECT_TRUE(judged.findings.empty());
  EXPECT_TRUE(judged.situations.empty());
}

}  // namespace
}  // namespace shardcheck
