// Linear probing: weights of contributions, and garbage, from N + 1 runs.
#include "properties/audit/probing.h"

#include <gtest/gtest.h>

#include "properties/diagnosis/algebra.h"
#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

/// Adds probes to a right trace; contribution `key` of parameter 0 enters with weight(key).
template <class Weight>
AuditTrace probed(Weight weight) {
  AuditCase c = audit_tests::small_case();
  c.probing = true;
  c.scenario.microbatches = 3;
  AuditTrace trace = audit_tests::right_trace(c, 1);
  const ScenarioData data(trace.audited.scenario);
  const Scenario& s = trace.audited.scenario;
  std::int32_t number = 0;
  const auto add = [&](std::optional<ContributionKey> key) {
    for (RankTrace& rank : trace.ranks) {
      for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
        TracedTensor t{.what = Traced::probe, .step = number, .parameter = p};
        t.is_present = true;
        for (std::int64_t i = 0; i < s.parameters[static_cast<std::size_t>(p)].numel(); ++i) {
          const bool here = key && key->parameter == p;
          t.values.push_back(here ? static_cast<float>(weight(*key) * contribution_at(s, data, *key, i))
                                  : 0.0f);
        }
        rank.tensors.push_back(std::move(t));
      }
    }
    ++number;
  };
  add(std::nullopt);
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      for (std::int32_t position = 0; position < std::ssize(s.uses); ++position) {
        const std::int32_t parameter = s.uses[static_cast<std::size_t>(position)].parameter;
        add(ContributionKey{parameter, 0, rank, m, position == 2 ? 1 : 0});
      }
    }
  }
  return trace;
}

TEST(Probing, RightWeightsHold) {
  const AuditTrace trace = probed([](const ContributionKey&) { return 0.5; });
  const ValueJudge values(trace);
  EXPECT_EQ(probed_weights(trace, values).size(), 2u * 18u);
  EXPECT_TRUE(judge_probes(trace, values).empty());
}

TEST(Probing, DoublingIsReadOffTheWeights) {
  // 2^(M-1-m) times the scale: multiplicities beyond the digits' reach are no obstacle.
  const AuditTrace trace =
      probed([](const ContributionKey& key) { return 0.5 * (1 << (2 - key.microbatch)); });
  const auto wrong = judge_probes(trace, ValueJudge(trace));
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0].finding.clause, "W24");
  EXPECT_EQ(wrong[0].finding.provenance[0], "microbatch 0 of rank 0 enters with weight 2 where 1/2 is right");
  ASSERT_FALSE(wrong[0].signatures.empty());
  EXPECT_TRUE(wrong[0].signatures[0].starts_with("doubling")) << wrong[0].signatures[0];
}

TEST(Probing, WhatIsLeftWithoutContributionsIsGarbage) {
  AuditTrace trace = probed([](const ContributionKey&) { return 0.5; });
  audit_tests::tensor_of(trace.ranks[1], Traced::probe, 0, 1).values[4] = 7;
  const auto wrong = judge_probes(trace, ValueJudge(trace));
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].finding.clause, "W3");
  EXPECT_EQ(wrong[0].finding.element, 4);
}

}  // namespace
}  // namespace shardcheck
