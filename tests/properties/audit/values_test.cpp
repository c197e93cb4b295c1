// Wrong numbers of a trace: the clause and the provenance that they show.
#include "properties/audit/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "properties/diagnosis/algebra.h"
#include "sim/scenario/data.h"
#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

using audit_tests::right_trace;
using audit_tests::small_case;
using audit_tests::tensor_of;

/// Adds `times` of a contribution to the gradient, scaled as the owner scales.
void add_contribution(AuditTrace& trace, TracedTensor& tensor, const ContributionKey& key, double times) {
  const ScenarioData data(trace.audited.scenario);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const double one =
        contribution_at(trace.audited.scenario, data, key, tensor.first + static_cast<std::int64_t>(i));
    tensor.values[i] += static_cast<float>(times * one / trace.audited.scenario.ranks);
  }
}

TEST(ValueJudge, ARightTraceHasNoFindings) {
  for (const std::int32_t shards : {1, 2}) {
    const AuditTrace trace = right_trace(small_case(), shards);
    EXPECT_TRUE(ValueJudge(trace).gradients().empty());
    EXPECT_TRUE(ValueJudge(trace).parameters().empty());
  }
}

TEST(ValueJudge, ALostAndADoubledContributionAreNamed) {
  AuditTrace trace = right_trace(small_case(), 1);
  TracedTensor& gradient = tensor_of(trace.ranks[1], Traced::gradient, 0, 1);
  add_contribution(trace, gradient, {1, 0, 0, 1, 0}, -1);
  add_contribution(trace, gradient, {1, 0, 1, 0, 1}, 1);
  const auto wrong = ValueJudge(trace).gradients();
  ASSERT_EQ(wrong.size(), 1u);
  const Finding& finding = wrong[0].finding;
  EXPECT_EQ(finding.clause, "W2");
  EXPECT_EQ(finding.rank, 1);
  EXPECT_EQ(finding.step, 0);
  EXPECT_EQ(finding.parameter_name, "b");
  const std::vector<std::string> said = {"microbatch 1 of rank 0 (step 0, use 0) is missing",
                                         "microbatch 0 of rank 1 (step 0, use 1) is counted twice"};
  EXPECT_EQ(std::set(finding.provenance.begin(), finding.provenance.end()),
            std::set(said.begin(), said.end()));
}

TEST(ValueJudge, EveryClauseThatDigitsName) {
  struct Case {
    const char* clause;
    void (*spoil)(AuditTrace&, TracedTensor&);
  };
  const Case cases[] = {
      {"W24",
       [](AuditTrace&, TracedTensor& t) {
         for (float& v : t.values) v *= 2;
       }},
      {"W6",
       [](AuditTrace& trace, TracedTensor& t) {
         add_contribution(trace, t, {0, 0, 1, 1, 0}, 1);
       }},
      {"W1",
       [](AuditTrace&, TracedTensor& t) {
         for (float& v : t.values) v = 0;
       }},
      {"W1", [](AuditTrace&, TracedTensor& t) { t.values[0] += 0.125f; }},
      {"W3", [](AuditTrace&, TracedTensor& t) { t.values[0] = std::nanf(""); }},
  };
  for (const Case& each : cases) {
    AuditTrace trace = right_trace(small_case(), 1);
    each.spoil(trace, tensor_of(trace.ranks[0], Traced::gradient, 1, 0));
    const auto wrong = ValueJudge(trace).gradients();
    ASSERT_EQ(wrong.size(), 1u) << each.clause;
    EXPECT_EQ(wrong[0].finding.clause, each.clause) << wrong[0].finding.sentence;
  }
}

TEST(ValueJudge, AScaleThatRoundsIsAScale) {
  AuditCase c = small_case();
  c.scenario.microbatches = 3;
  const auto judged = [&](auto spoil) {
    AuditTrace trace = right_trace(c, 1);
    for (float& value : tensor_of(trace.ranks[0], Traced::gradient, 0, 1).values) value = spoil(value);
    return ValueJudge(trace).gradients().at(0).finding;
  };
  const Finding divided = judged([](float v) { return v / 3; });
  EXPECT_EQ(divided.clause, "W24");
  EXPECT_EQ(divided.sentence, "every element is 1/3 of what it should be, but for rounding: a scale");
  EXPECT_NE(judged([](float v) { return v * 6.0F; }).sentence.find("6 times"), std::string::npos);
  // Neither a count of this case nor within the rounding of one.
  EXPECT_NE(judged([](float v) { return v / 7; }).clause, "W24");
  EXPECT_NE(judged([](float v) { return v / 3.001F; }).clause, "W24");
}

TEST(ValueJudge, GarbageWhereAMicrobatchIsSilentIsW7AndASilentStepIsW8) {
  AuditCase c = small_case();
  c.scenario.silent = {{.parameter = 0, .step = 0, .rank = 1, .microbatch = 1}, {.parameter = 1, .step = 1}};
  AuditTrace trace = right_trace(c, 1);
  tensor_of(trace.ranks[0], Traced::gradient, 0, 0).values[1] += 0.125f;
  tensor_of(trace.ranks[0], Traced::gradient, 1, 1).values[1] = 2;
  const auto wrong = ValueJudge(trace).gradients();
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_EQ(wrong[0].finding.clause, "W7");
  EXPECT_EQ(wrong[1].finding.clause, "W8");
}

TEST(ValueJudge, AFrozenParameterHasNoGradientAndStays) {
  AuditCase c = small_case();
  c.scenario.parameters[1].trainable = false;
  AuditTrace trace = right_trace(c, 1);
  for (RankTrace& rank : trace.ranks) {
    for (TracedTensor& t : rank.tensors) {
      if (t.parameter == 1) std::ranges::fill(t.values, 0.0f);
    }
  }
  EXPECT_TRUE(ValueJudge(trace).gradients().empty());
  EXPECT_TRUE(ValueJudge(trace).parameters().empty());
  tensor_of(trace.ranks[0], Traced::gradient, 0, 1).values[0] = 1;
  tensor_of(trace.ranks[0], Traced::parameter, 1, 1).values[0] = 1;
  ASSERT_EQ(ValueJudge(trace).gradients().size(), 1u);
  EXPECT_EQ(ValueJudge(trace).gradients()[0].finding.clause, "W10");
}

TEST(ValueJudge, AnUpdateThatIsNotTheGradientIsTheOptimizersFault) {
  AuditTrace trace = right_trace(small_case(), 1);
  tensor_of(trace.ranks[1], Traced::parameter, 1, 0).values[2] += 0.25f;
  const auto findings = ValueJudge(trace).parameters();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W32");
  EXPECT_EQ(findings[0].element, 2);
  // Where the gradient is wrong already, nothing is said of the update.
  tensor_of(trace.ranks[0], Traced::gradient, 0, 0).values[0] += 1;
  EXPECT_TRUE(ValueJudge(trace).parameters().empty());
}

TEST(ValueJudge, ThePatternOfALostMicrobatchIsRecognised) {
  AuditTrace trace = right_trace(small_case(), 1);
  for (RankTrace& rank : trace.ranks) {
    TracedTensor& gradient = tensor_of(rank, Traced::gradient, 0, 0);
    for (const std::int32_t from : {0, 1}) add_contribution(trace, gradient, {0, 0, from, 0, 0}, -1);
  }
  const auto wrong = ValueJudge(trace).gradients();
  ASSERT_EQ(wrong.size(), 2u);
  ASSERT_FALSE(wrong[0].signatures.empty());
  EXPECT_TRUE(wrong[0].signatures[0].starts_with("last-microbatch-only")) << wrong[0].signatures[0];
}

}  // namespace
}  // namespace shardcheck
