// The text of reports that a small checkpoint does not make.
#include "tools/shardcheck/fp8/verify_text.h"

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck::fp8 {
namespace {

verify::TensorReport broken_tensor(const std::string& name) {
  verify::TensorReport report{.name = name, .recipe = "te-mxfp8", .extent = {32, 32}, .grid = {32, 1}};
  report.sweep.blocks = 32;
  report.sweep.broken_blocks = 1;
  return report;
}

TEST(VerifyText, OfManyTensorsTheTableHasThoseThatDoNotHold) {
  verify::Report report;
  for (int i = 0; i < 100; ++i) {
    report.tensors.push_back(broken_tensor("w" + std::to_string(i)));
    if (i != 50) report.tensors.back().sweep.broken_blocks = 0;
  }
  const std::string text = summary_text({}, report);
  EXPECT_TRUE(holds(text, "w50 te-mxfp8 32 x 32 32 1 BROKEN")) << text;
  EXPECT_FALSE(holds(text, "w49"));
  EXPECT_TRUE(holds(text, "and 99 tensors"));
}

TEST(VerifyText, WhatWasExaminedAndWhatWasNotTried) {
  verify::TensorReport report = broken_tensor("w");
  report.sweep.broken_blocks = 1000;
  report.explanation = {{{"F20", "wrong", 60, {}, {}, {"another"}}}, 64, false};
  const std::string text = tensor_text({}, report);
  EXPECT_TRUE(holds(text, "F20 wrong: 60 of 64 blocks examined or another")) << text;
  EXPECT_TRUE(holds(text, "not tried transposed and shifted codes: the tensor does not fit memory"));
}

TEST(VerifyText, TheChoiceIsToldOnce) {
  verify::Report report;
  for (int i = 0; i < 3; ++i) {
    report.tensors.push_back(broken_tensor("w"));
    report.tensors.back().equals = {"ao-mxfp8-rceil"};
  }
  EXPECT_EQ(unwrapped(choice_text({}, report)),
            "te-mxfp8 explains the most of a sample, and so do ao-mxfp8-rceil; --recipe names one ");
}

}  // namespace
}  // namespace shardcheck::fp8
