// Every declared quirk shows on its smallest model, marked, with nothing else beside it: a quirk that no
// longer shows is a failure here, because the layout named after a system behaves as that system does.
#include "properties/layout_laws/quirks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "properties/layout_laws/judge.h"

namespace shardcheck::laws {
namespace {

/// The metamorphic law that compares a group with its parts.
constexpr std::int64_t kSplitGroup = 4;

class EveryQuirk : public testing::TestWithParam<Quirk> {};

TEST_P(EveryQuirk, ShowsOnItsSmallestModel) {
  const Quirk& quirk = GetParam();
  const Verdict verdict = judge({.asked = quirk.smallest(), .choice = kSplitGroup});
  EXPECT_TRUE(std::ranges::any_of(verdict.findings, [&](const LawFinding& finding) {
    return finding.law == quirk.law && finding.quirk == quirk.reference && finding.layout == quirk.layout;
  }));
  for (const LawFinding& finding : verdict.findings) EXPECT_FALSE(finding.quirk.empty()) << to_text(finding);
}

std::string test_name(const testing::TestParamInfo<Quirk>& info) {
  std::string name = std::string(info.param.layout) + "_" + std::string(info.param.law) + "_" +
                     std::string(info.param.reference);
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Declared, EveryQuirk, testing::ValuesIn(quirks().begin(), quirks().end()),
                         test_name);

/// A quirk explains only what it is about: the same models without their cause are clean.
TEST(Quirks, NeighboursWithoutTheCauseAreClean) {
  const auto clean = [](const char* layout, std::vector<std::vector<std::int64_t>> shapes,
                        std::int32_t world) {
    Asked asked{layout, {}, layout::mesh_of(world), {.block_rows = 1}};
    for (auto& shape : shapes) {
      asked.parameters.push_back({.name = "P" + std::to_string(asked.parameters.size()), .shape = shape});
    }
    return judge({.asked = asked}).findings.empty();
  };
  EXPECT_TRUE(clean("mfsdp-v2-flat", {{1, 3}, {2, 2}}, 2));
  EXPECT_TRUE(clean("megatron-fsdp-v1", {{2, 2}, {1, 2}}, 2));
  EXPECT_TRUE(clean("mfsdp-v2-flat", {{3, 1}, {1, 2}}, 1));
  EXPECT_TRUE(clean("fsdp2-per-param", {{4, 1}}, 4));
  EXPECT_TRUE(clean("zero3-flat", {{7}}, 4));
}

}  // namespace
}  // namespace shardcheck::laws
