// Every required edge of wgrad 6.2: its entry of the zoo leaves out that edge and no
// other, is reported by its id with both ops and the bytes, and has a schedule in which a consumer reads
// something wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "core/contract/ordering.h"
#include "core/numerics/profile.h"
#include "properties/schedules.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

struct EdgeRow {
  std::string_view edge, fault;
  std::int32_t slots = 2;  ///< of the owner's pool
};
constexpr EdgeRow kEdges[] = {
    {"E1", "B-32"},      {"E2", "B-28", 1}, {"E3", "M-E3"},    {"E4", "M-E4"},   {"E5", "M-E5"},
    {"E6", "B-29", 3},   {"E7", "M-W23"},   {"E8", "M-E8"},    {"E9", "M-E9"},   {"E10", "M-F46b"},
    {"E10", "M-F46c"},   {"E11", "M-E11"},  {"E11", "M-E11b"}, {"E12", "M-E12"}, {"E13", "M-E13"},
    {"E14", "M-E14", 1}, {"E15", "M-E15"},  {"E16", "M-E16"},  {"E17", "M-E17"},
};

class Edges : public testing::TestWithParam<EdgeRow> {};

TEST_P(Edges, IsTheOnlyOneThatItsFaultLeavesOut) {
  const std::string_view edge = GetParam().edge, fault = GetParam().fault;
  const Plan plan = rewritten(fault);
  const std::vector<Race> races = races_of(plan);
  EXPECT_FALSE(races.empty());
  std::string others;
  for (const Race& race : races) {
    if (edge_of(plan, race).id == edge) continue;
    const Finding finding = finding_of(plan, race);
    others += finding.sentence + "\n  " + finding.history[0] + "\n  " + finding.history[1] + "\n";
  }
  EXPECT_EQ(others, "");
}

TEST_P(Edges, IsNamedWithBothOpsAndTheBytes) {
  const std::string_view edge = GetParam().edge, fault = GetParam().fault;
  const Plan plan = rewritten(fault);
  const std::vector<Finding> findings = judge_order(plan);
  ASSERT_FALSE(findings.empty());
  const Finding& finding = findings[0];
  EXPECT_NE(finding.sentence.find("(edge " + std::string(edge) + ")"), std::string::npos) << finding.sentence;
  EXPECT_GE(finding.op.value, 0);
  EXPECT_EQ(finding.history.size(), 2u);
  EXPECT_NE(finding.sentence.find("[" + std::to_string(races_of(plan)[0].bytes.offset) + ":"),
            std::string::npos)
      << finding.sentence;
}

TEST_P(Edges, HasAScheduleThatGoesWrong) {
  Scenario s = prepared(*find_fault(GetParam().fault));
  s.fault = GetParam().fault;
  s.slots = GetParam().slots;
  const auto backend = make_cpu_backend(kIdeal);
  const Exploration seen = explore_schedules(*backend, s, 200);
  std::int64_t wrong = 0;
  for (const ExploredPlan& plan : seen.plans) wrong += plan.wrong;
  EXPECT_GT(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Wgrad62, Edges, testing::ValuesIn(kEdges), [](const auto& info) {
  std::string name = std::string(info.param.edge) + "_" + std::string(info.param.fault);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(EdgeFaults, RewriteThePlan) {
  expect_rewrites(
      add_edge_faults,
      {
          {"M-E3", "-4 RS@r -4 scale@r +4 RS +4 record +4 scale +4 wait@r "},
          {"M-E4", "-2 RS@r -2 acc+@r -2 close@r -2 scale@r -2 wait +2 RS +2 acc+ +2 close +2 scale "},
          {"M-E5", "-2 AR@r +2 AR "},
          {"M-E9", "-2 zero +2 record +2 wait@r +2 zero@r "},
          {"M-E11", "-6 wait@r "},
          {"M-E11b", "-6 wait@r "},
          {"M-E12", "+8 undefine@r "},
          {"M-E13", "-4 zero-dummy +4 record +4 wait@r +4 zero-dummy@r "},
          {"M-E14", "-8 close@r +8 close +8 record@r +4 wait "},
          {"M-E15", "-2 wait "},
          {"M-E15b", "-2 zero +2 record@r +2 wait +2 zero@r "},
          {"M-E16", "-1 wait -1 wait@r "},
          {"M-E17", "-4 wait "},
      });
}

}  // namespace
}  // namespace shardcheck::tests
