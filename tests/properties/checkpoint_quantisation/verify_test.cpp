// Whole checkpoints: what quantize wrote holds by every recipe, both copies and both shapes of scales; one
// changed byte anywhere is found, and nothing else.
#include "properties/checkpoint_quantisation/verify.h"

#include <gtest/gtest.h>

#include "tests/properties/checkpoint_quantisation/whole_file.h"

namespace shardcheck::verify {
namespace {

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() { write_source(in(), {{"a", {256, 512}}, {"b", {384, 256}}}); }
  std::filesystem::path in() const { return folder.path() / "in.safetensors"; }
  std::filesystem::path out() const { return folder.path() / "out.safetensors"; }

  Report verified(bool with_source, const char* recipe = nullptr) const {
    const checkpoint::TensorFiles files(out()), source(in());
    const auto all = [](const std::string&) { return true; };
    Request request{.files = files, .source = with_source ? &source : nullptr, .is_chosen = all};
    if (recipe != nullptr) request.recipe = recipe::find_recipe(recipe);
    request.options.threads = 2;
    return verify_checkpoint(request, contents_of(files, all));
  }
  /// The names of tensors that do not hold, with the clause of the first problem or kind.
  static std::string broken(const Report& report) {
    std::string text;
    for (const auto* tensors : {&report.tensors, &report.copied}) {
      for (const TensorReport& each : *tensors) {
        if (each.holds()) continue;
        text += each.name + " " + (each.problems.empty() ? kinds_of(each) : each.problems[0].clause) + " ";
      }
    }
    return text;
  }
  checkpoint::TempFolder folder;
};

TEST_F(VerifyTest, WhatQuantizeWroteHolds) {
  for (const recipe::Recipe& recipe : recipe::recipes()) {
    if (recipe.formula == recipe::ScaleFormula::given) continue;
    for (const auto shape : {checkpoint::ScaleShape::grid, checkpoint::ScaleShape::padded}) {
      write_codes(in(), out(), {recipe.name, shape});
      for (const bool with_source : {true, false}) {
        const Report report = verified(with_source);
        EXPECT_TRUE(report.holds()) << recipe.name << " " << name_of(shape) << " " << broken(report);
        EXPECT_EQ(report.tensors.size(), 4u);
        EXPECT_EQ(report.copies, with_source ? 1 : 0);
      }
      std::filesystem::remove(out());
    }
  }
}

TEST_F(VerifyTest, OneByteAnywhereIsFound) {
  write_codes(in(), out(), {"te-mxfp8", checkpoint::ScaleShape::padded});
  const std::pair<ByteOf, const char*> places[] = {{{"a", 5000}, "a F"},
                                                   {{"b_scale", 0}, "b F20"},
                                                   {{"a_columnwise", 77}, "a_columnwise F"},
                                                   {{"norm", 31}, "norm "}};
  for (const auto& [place, expected] : places) {
    change(out(), place, [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 1); });
    const Report report = verified(true);
    EXPECT_EQ(report.broken(), 1) << place.tensor;
    EXPECT_EQ(broken(report).find(expected), 0u) << broken(report);
    change(out(), place, [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 1); });
  }
  EXPECT_TRUE(verified(true).holds());
}

TEST_F(VerifyTest, PaddingThatProductsReadIsZero) {
  write_source(in(), {{"a", {32, 96}}});
  write_codes(in(), out(), {"te-mxfp8", checkpoint::ScaleShape::padded});
  change(out(), {"a_scale", 3}, [](std::uint8_t) { return 127; });
  EXPECT_EQ(broken(verified(false)), "a F37 ");
}

TEST_F(VerifyTest, AColumnCopyIsTheTransposedRowCopyWhereItFollows) {
  write_codes(in(), out(), {"te-block-128x128"});
  const auto flip_sign = [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 0x80); };
  change(out(), {"b_columnwise", 300}, flip_sign);  // no clause of one block sees a sign
  EXPECT_EQ(broken(verified(false)), "b_columnwise F33 ");
}

TEST_F(VerifyTest, TheSecondLevelIsHeldAgainstTheSource) {
  write_codes(in(), out(), {"te-nvfp4"});
  change(out(), {"a_scale_2", 2}, [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 0x10); });
  EXPECT_EQ(broken(verified(true)).find("a F20"), 0u);
}

TEST_F(VerifyTest, AnotherRecipeThanTheFileSays) {
  write_codes(in(), out(), {"te-block-128x128-fp32"});
  const Report report = verified(true, "te-block-128x128");
  EXPECT_EQ(report.broken(), 4);
  EXPECT_NE(broken(report).find("the scale is that of te-block-128x128-fp32, and made the codes too"),
            std::string::npos);
  EXPECT_NE(broken(verified(false, "te-mxfp8")).find("a F35"), std::string::npos);
}

TEST_F(VerifyTest, ASourceThatIsNone) {
  write_codes(in(), out(), {"te-block-128x128"});
  write_source(in(), {{"a", {256, 512}}});
  const std::string said = checkpoint::sentence_of([&] { verified(true); });
  EXPECT_NE(said.find("it has no tensor \"b\""), std::string::npos) << said;
  write_source(in(), {{"a", {256, 512}}, {"b", {256, 384}}});
  EXPECT_EQ(broken(verified(true)).find("b F35"), 0u);
}

}  // namespace
}  // namespace shardcheck::verify
