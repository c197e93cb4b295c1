// The byte laws hold on the reference and break on collectives that are wrong, by the law that says so.
#include "properties/layout_bytes/layout_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

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

/// Seed 29 of a million cases: the tensor is frozen, so the first layout holds nothing of it; the second cuts
/// its columns, which makes a segment of each of 2^40 rows.
TEST(LayoutBytes, AHugeFrozenTensorIsNotWrittenOutByTheSecondLayout) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  laws::Case value{.asked = {"megatron-ddp", {{.name = "P0", .shape = {4, 4}}}, layout::mesh_of(2), {}}};
  value.asked.parameters.push_back(
      {.name = "P1", .shape = {std::int64_t{1} << 40, 2}, .requires_grad = false});
  value.moved_to = value.asked;
  value.moved_to->layout = "dtensor-nd";
  value.moved_to->configuration.placements = {{layout::Placement::Kind::shard, 1}};
  const JudgedCase judged = judge_layout_bytes(*backend, laws::LayoutCase(value));
  EXPECT_TRUE(judged.findings.empty());
  EXPECT_EQ(
      judged.situations,
      std::vector<std::size_t>{static_cast<std::size_t>(
          std::ranges::find(layout_bytes_situations(), "gathered and reduce-scattered under megatron-ddp") -
          layout_bytes_situations().begin())});
}

}  // namespace
}  // namespace shardcheck
