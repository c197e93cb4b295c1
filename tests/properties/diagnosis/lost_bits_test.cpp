// K06: a sum that was accumulated in bf16 and one that was reduced in it are the same wrong number; the op
// that rounds first tells them apart, in the value's finding and in the diagnosis.
#include "properties/diagnosis/lost_bits.h"

#include <gtest/gtest.h>

#include "properties/diagnosis/subject.h"
#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

/// One element that gets 4^i from contribution i; from the fifth on, sums are no numbers of bf16.
Scenario powers(const char* fault, std::int32_t ranks, std::int32_t microbatches) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {1, 1};
  s.ranks = ranks;
  s.microbatches = microbatches;
  s.loss = Loss::per_token;
  s.fault = fault;
  validate(s, fault);
  return s;
}

std::optional<LostBits> of_first_element(const Scenario& s) {
  const Planned planned = rewritten_plan(s, Poison::quiet_nan);
  return lost_bits(planned, s, ScenarioData(s), {{ParamId{0}, 0}, 0, Rank{0}});
}

TEST(LostBits, NamesTheOpThatRoundsFirst) {
  const auto accumulated = of_first_element(powers("B-56", 1, 8));
  ASSERT_TRUE(accumulated);
  EXPECT_NE(accumulated->sentence.find("microbatch 4"), std::string::npos) << accumulated->sentence;
  EXPECT_TRUE(accumulated->sentence.ends_with("leaves 340 of 341, in bf16")) << accumulated->sentence;
  const auto reduced = of_first_element(powers("K06b", 8, 1));
  ASSERT_TRUE(reduced);
  EXPECT_NE(reduced->sentence.find("all-reduce"), std::string::npos) << reduced->sentence;
  EXPECT_TRUE(reduced->sentence.ends_with("in bf16")) << reduced->sentence;
  EXPECT_EQ(accumulated->wanted, reduced->wanted);
}

TEST(LostBits, AreNoneWhereNothingIsRounded) {
  EXPECT_FALSE(of_first_element(powers("", 2, 4)));
  Scenario wide = powers("M-W38b", 2, 2);
  wide.comm = DType::bf16;
  EXPECT_FALSE(of_first_element(wide)) << "a rounding too few loses nothing";
  EXPECT_FALSE(of_first_element(powers("B-14", 2, 4))) << "wrong, but by no rounding";
  Scenario odd = powers("B-56", 3, 2);
  EXPECT_FALSE(of_first_element(odd)) << "1/3 is never exact";
}

TEST(LostBits, ExplainTheWrongNumberInTheFindings) {
  const auto cpu = test::backend();
  for (const auto& [fault, clause] : {std::pair{"B-56", "W38"}, std::pair{"B-02b", "W16"}}) {
    Scenario s = powers(fault, 1, 8);
    bool explained = false;
    for (const Finding& f : examine(*cpu, s, Poison::quiet_nan).findings) {
      EXPECT_EQ(f.clause, clause) << f.sentence;
      if (f.has_values) explained = f.sentence.starts_with("every contribution is there, only rounded: op ");
    }
    EXPECT_EQ(explained, std::string_view(fault) == "B-56") << "the single products of B-02b are exact";
  }
}

TEST(LostBits, AreInTheDiagnosis) {
  const auto cpu = test::backend();
  const Diagnosis d = test::diagnose(powers("K02b", 1, 8), "W16", *cpu);
  ASSERT_EQ(d.finding.provenance.size(), 1u);
  EXPECT_TRUE(d.finding.provenance[0].starts_with("every contribution is in it once; op "));
  EXPECT_TRUE(d.finding.has_values);
  EXPECT_TRUE(test::has_mending(d, "without the fault K02b", true));
}

}  // namespace
}  // namespace shardcheck
