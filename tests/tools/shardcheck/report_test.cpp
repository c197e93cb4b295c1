// A finding as text has every fact of the report, and no label without one.
#include "tools/shardcheck/report.h"

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

Finding finding() {
  Finding f{.clause = "W2", .sentence = "a contribution does not enter the gradient exactly once"};
  f.op = OpIndex{17};
  f.op_text = "wgrad GEMM, beta = 0";
  f.stream = "compute";
  f.rank = 1;
  f.step = 0;
  f.microbatch = 2;
  f.parameter_name = "w0";
  f.element = 3;
  f.has_values = true;
  f.expected = {4, 0x40800000u, DType::f32};
  f.actual = {5, 0x40a00000u, DType::f32};
  f.provenance = {"microbatch 0 of rank 3 is counted twice", "microbatch 1 of rank 2 is missing"};
  f.history = {"op 3: zero", "op 17: wgrad GEMM"};
  return f;
}

TEST(Report, AFindingHasItsEvidence) {
  const std::string text = finding_text({}, finding());
  for (const char* part :
       {"W2 Exactly once", "multiplicity one", "what            a contribution does not enter",
        "op 17, rank 1, stream compute, step 0, microbatch 2, parameter w0, element 3",
        "expected        4 (0x40800000)", "actual          5 (0x40a00000)",
        "microbatch 0 of rank 3 is counted twice", "1. op 3: zero", "2. op 17: wgrad GEMM"})
    EXPECT_TRUE(holds(text, part)) << part << " in\n" << text;
}

TEST(Report, WhatDoesNotApplyIsLeftOut) {
  const std::string text = finding_text({}, Finding{.clause = "W4", .sentence = "s"});
  for (const char* part : {"rank", "expected", "provenance", "history", "-1"})
    EXPECT_FALSE(holds(text, part)) << part << " in\n" << text;
}

TEST(Report, OtherFindingsGetALine) {
  const std::vector<Finding> two = {finding(), Finding{.clause = "W4", .sentence = "s"}};
  EXPECT_TRUE(holds(findings_text({}, two), "also            W4 Legal beta: s"));
}

TEST(Report, ThePropertyLineShowsCoverageAndVerdict) {
  PropertyResult result{.property = find_property("frozen")};
  result.report.cases = 7058;
  result.report.coverage = {{"a frozen parameter", 12}, {"two ranks", 9}};
  const LineWidths widths{.id = 8, .clauses = 4};
  EXPECT_EQ(property_line({}, result, widths),
            "frozen    W10      7,058 cases   0.000 s    2/2 situations  held\n");
  result.report.missing = {"an empty shard"};
  EXPECT_TRUE(holds(property_line({}, result, widths), "2/3 situations  gave up"));
  EXPECT_TRUE(holds(property_line({}, result, widths), "not reached     an empty shard"));
}

TEST(Report, TheVerdictIsOneLine) {
  CheckResult result{.seed = 5, .seconds = 2};
  result.properties = {{.property = find_property("frozen")}};
  result.properties[0].report.cases = 1000;
  EXPECT_EQ(verdict_line({}, result),
            "held: 1 property; 1,000 cases in 2.0 s (500 a second), seed 5, cpu (ideal)\n");
}

TEST(Report, ALabelThatIsTooLongHasALineOfItsOwn) {
  EXPECT_EQ(labelled({}, "backend", "both"), "  backend       both\n");
  EXPECT_EQ(labelled({}, "shadow:REFERENCE,CANDIDATE", "both"),
            "  shadow:REFERENCE,CANDIDATE\n                both\n");
}

}  // namespace
}  // namespace shardcheck
