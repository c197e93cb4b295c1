// The FP8 section of a scenario: what it refuses, in sentences, and what it says.
#include "sim/scenario/fp8.h"

#include <gtest/gtest.h>

#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck::tests {
namespace {

Scenario with(const std::string& recipe, std::vector<std::int64_t> shape) {
  Scenario s = small_scenario();
  s.parameters[0].shape = std::move(shape);
  s.fp8.emplace();
  s.fp8->recipe = recipe;
  return s;
}

std::string refusal(const Scenario& s) {
  return sentence_of([&] { validate(s, "f.json"); });
}

TEST(Fp8, RefusesRecipesThatAWeightCannotHave) {
  EXPECT_NE(refusal(with("te-nvfp4", {16, 16})).find("fp8.recipe: te-nvfp4 has 4-bit codes"),
            std::string::npos);
  EXPECT_NE(refusal(with("te-block-1x128", {128, 128})).find("it is for activations"), std::string::npos);
  Scenario s = with("ao-tensorwise", {4, 4});
  EXPECT_EQ(refusal(s), "");
  s.strategy = Strategy::megatron_ddp_zero1;
  EXPECT_NE(refusal(s).find("ranks would disagree (F44)"), std::string::npos);
  const std::string unknown = refusal(with("mxfp8", {32, 32}));
  EXPECT_NE(unknown.find("\"mxfp8\" is no recipe; weights here can have te-delayed, te-current"),
            std::string::npos)
      << unknown;
}

TEST(Fp8, RefusesShapesThatTheRecipeDoesNotTake) {
  const std::string sentence = refusal(with("te-mxfp8", {32, 40}));
  EXPECT_NE(sentence.find("parameters[0].shape: 32x40 is no FP8 weight of te-mxfp8, which takes multiples of "
                          "32 rows and 32 columns"),
            std::string::npos)
      << sentence;
  Scenario bias = with("te-mxfp8", {4});
  bias.uses[0].producer = Producer::unfused;
  EXPECT_NE(refusal(bias).find("no parameter is a trainable matrix"), std::string::npos);
}

TEST(Fp8, RefusesAnEventThatCannotBe) {
  Scenario s = with("te-current", {4, 4});
  s.fp8->history = 3;
  EXPECT_NE(refusal(s).find("fp8.history: te-current has no history"), std::string::npos);
  s = with("te-delayed", {4, 4});
  s.fp8->history = 0;
  EXPECT_NE(refusal(s).find("0 is out of range; give 1 to 1024"), std::string::npos);
  s = with("te-mxfp8", {32, 32});
  s.fp8->transposes = Transposes::keep;
  EXPECT_NE(refusal(s).find("its column copy is gathered"), std::string::npos);
  s = with("te-current", {4, 4});
  s.steps = 2;
  s.fp8->skipped_steps = {1, 0};
  EXPECT_NE(refusal(s).find("fp8.skipped_steps[1]: 0 does not follow 1"), std::string::npos);
  s.fp8->skipped_steps = {};
  s.fp8->evaluations = {2};
  EXPECT_NE(refusal(s).find("fp8.evaluations[0]: 2 is out of range"), std::string::npos);
  s.fp8->evaluations = {};
  s.fp8->reload_after = 2;
  EXPECT_NE(refusal(s).find("fp8.reload_after: 2 is out of range"), std::string::npos);
}

TEST(Fp8, OnlyTrainableMatricesWithElements) {
  Scenario s = with("te-current", {4, 4});
  EXPECT_TRUE(has_fp8_weight(s, 0));
  s.parameters[0].trainable = false;
  EXPECT_FALSE(has_fp8_weight(s, 0));
  s.parameters[0].trainable = true;
  s.fp8.reset();
  EXPECT_FALSE(has_fp8_weight(s, 0));
}

TEST(Fp8, TheRateIsAPowerOfTwoThatMovesWeights) {
  Scenario s = with("te-current", {4, 4});
  EXPECT_EQ(optimizer_rate(s), 0x1p-21f) << "2 ranks, 12 digits: 4^11 / 2 becomes 1";
  s.data = DataMode::integers;
  EXPECT_EQ(optimizer_rate(s), 0x1p-4f);
  s.fp8.reset();
  EXPECT_EQ(optimizer_rate(s), 0x1p-4f);
}

TEST(Fp8, AnEmptyObjectIsNoSection) {
  const std::string text = to_json(with("te-current", {4, 4}));
  EXPECT_NE(text.find(R"("fp8": {"recipe": "te-current"})"), std::string::npos) << text;
  std::string empty = text;
  empty.replace(empty.find(R"({"recipe": "te-current"})"), 24, "{}");
  const std::string sentence = sentence_of([&] { scenario_from_json(empty, "f.json"); });
  EXPECT_NE(sentence.find("the field \"recipe\" is missing"), std::string::npos) << sentence;
}

TEST(Fp8, IsDescribedInASentence) {
  Scenario s = with("te-delayed", {4, 4});
  s.fp8->reload_after = 0;
  EXPECT_NE(
      describe(s).find(" Weights in FP8 by te-delayed over 4 steps, masters from the kept initial value, "
                       "saved and loaded after step 0."),
      std::string::npos)
      << describe(s);
}

}  // namespace
}  // namespace shardcheck::tests
