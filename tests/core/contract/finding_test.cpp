#include "core/contract/finding.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

TEST(Finding, ASightingShowsValueAndBits) {
  EXPECT_EQ(to_text({0.5, 0x3f000000, DType::f32}), "0.5 (0x3f000000)");
  EXPECT_EQ(to_text({1, 0x3f80, DType::bf16}), "1 (0x3f80)");
  EXPECT_EQ(to_text({-0.0, 0x80, DType::e4m3}), "-0 (0x80)");
  EXPECT_EQ(to_text({std::numeric_limits<double>::quiet_NaN(), 0x7fc0dead, DType::f32}), "NaN (0x7fc0dead)");
  EXPECT_EQ(to_text({-std::numeric_limits<double>::infinity(), 0xfc00, DType::f16}), "-infinity (0xfc00)");
}

TEST(Finding, IsNamedAfterItsOp) {
  Plan plan;
  PlanBuilder build(plan);
  const std::vector<Rank> ranks{Rank{0}};
  build.op(BeginMicrobatch{}, {.step = 1, .microbatch = 2}, Stream::reduce, ranks);
  Finding finding;
  name_op(finding, plan, OpIndex{0});
  EXPECT_EQ(finding.op.value, 0);
  EXPECT_EQ(finding.op_text, describe(plan, plan.ops[0]));
  EXPECT_EQ(finding.stream, "reduce");
  EXPECT_EQ(finding.step, 1);
  EXPECT_EQ(finding.microbatch, 2);
}

TEST(Finding, WritesJson) {
  Finding finding{.clause = "W2", .sentence = "a \"sentence\""};
  EXPECT_NE(to_json(finding).find(R"("clause":"W2")"), std::string::npos);
  EXPECT_NE(to_json(finding).find(R"("sentence":"a \"sentence\"")"), std::string::npos);
  EXPECT_NE(to_json(finding).find(R"("expected":null)"), std::string::npos);
  finding.has_values = true;
  finding.actual = {std::numeric_limits<double>::quiet_NaN(), 0x7e01, DType::f16};
  EXPECT_NE(to_json(finding).find(R"("actual":{"dtype":"f16","hex":"0x7e01","number":"NaN"})"),
            std::string::npos)
      << to_json(finding);
  EXPECT_NE(to_json(finding).find(R"("number":0.0)"), std::string::npos);
}

}  // namespace
}  // namespace shardcheck
