#include "properties/diagnosis/first_wrong.h"

#include <gtest/gtest.h>

#include "sim/faults/zoo.h"
#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

/// How the element's history differs from the reference's, for a fault whose plan says it all.
FirstWrong found_in(const std::string& fault, std::vector<Rank> ranks, Planned* plan) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {2, 16};
  find_fault(fault)->prepare(s);
  s.fault = fault;
  const Subject subject(s, {.clause = "W1", .rank = 0, .parameter = 0, .element = 0}, Poison::quiet_nan);
  *plan = subject.planned;
  return compare_with_reference(subject, ranks);
}

std::string text(const Planned& planned, std::optional<OpIndex> op) {
  return op ? describe(planned.plan, planned.plan.ops[static_cast<std::size_t>(op->value)]) : "nothing";
}

TEST(FirstWrong, AnOpThatDoesSomethingElse) {
  Planned plan;
  const FirstWrong wrong = found_in("B-39", {Rank{0}}, &plan);
  EXPECT_TRUE(text(plan, wrong.first_wrong).starts_with("scale by 0.5"));
  EXPECT_TRUE(text(plan, wrong.last_right).starts_with("wgrad GEMM"));
  EXPECT_TRUE(wrong.sentence.starts_with("where the reference does: scale by 0.25"));
}

TEST(FirstWrong, AnOpTooMany) {
  Planned plan;
  const FirstWrong wrong = found_in("B-37", {Rank{0}}, &plan);
  EXPECT_TRUE(text(plan, wrong.first_wrong).starts_with("all-reduce (sum)"));
  EXPECT_TRUE(text(plan, wrong.last_right).starts_with("all-reduce (sum)"));
  EXPECT_EQ(wrong.sentence, "the reference has no such op here");
}

TEST(FirstWrong, AnOpThatIsMissing) {
  Planned plan;
  const FirstWrong wrong = found_in("K09", {Rank{0}}, &plan);
  EXPECT_TRUE(text(plan, wrong.first_wrong).starts_with("all-reduce (sum)"));
  EXPECT_TRUE(
      wrong.sentence.starts_with("before it the reference does what this plan never does: scale by 0.5"));
}

TEST(FirstWrong, AnOpThatIsMissingAtTheEnd) {
  Planned plan;
  const FirstWrong wrong = found_in("B-42", {Rank{0}}, &plan);
  EXPECT_TRUE(text(plan, wrong.first_wrong).starts_with("finish"));
  EXPECT_TRUE(wrong.sentence.starts_with("it ends the step without what the reference does: all-reduce"));
}

TEST(FirstWrong, NothingIsWrongInAnyRightJob) {
  for (Scenario s : test::jobs()) {
    const bool sound = s.write_mode == WriteMode::r5 || (has_reference_hooks(s.write_mode) && s.zeroing);
    if (!sound) continue;
    for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
      const Subject subject(s, {.clause = "W1", .rank = 1, .parameter = p, .element = 3}, Poison::quiet_nan);
      const Rank ranks[] = {Rank{0}, Rank{1}, Rank{2}, Rank{3}};
      const FirstWrong wrong = compare_with_reference(subject, ranks);
      EXPECT_FALSE(wrong.first_wrong) << wrong.sentence << describe(s);
    }
  }
}

TEST(FirstWrong, TheReferenceKeepsWhatIsSound) {
  Scenario s = test::worked_example();
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::index;
  s.zeroing = false;
  s.fault = "B-08";
  const Scenario reference = reference_of(s);
  EXPECT_EQ(reference.write_mode, WriteMode::r5);
  EXPECT_EQ(reference.first_microbatch, FirstMicrobatch::none);
  EXPECT_TRUE(reference.zeroing);
  EXPECT_EQ(reference.fault, "");
  s.write_mode = WriteMode::r7;
  EXPECT_EQ(reference_of(s).write_mode, WriteMode::r7);
}

}  // namespace
}  // namespace shardcheck
