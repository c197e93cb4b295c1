// Good copies hold by every recipe, with and without the source; one byte is found where it is.
#include "properties/checkpoint_quantisation/sweep.h"

#include <gtest/gtest.h>

#include "tests/properties/checkpoint_quantisation/damaged.h"

namespace shardcheck::verify {
namespace {

void nothing(Damaged::Codes&, std::vector<std::uint32_t>&) {}

TEST(Sweep, GoodCopiesHoldByEveryRecipe) {
  for (const recipe::Recipe& recipe : recipe::recipes()) {
    if (recipe.formula == recipe::ScaleFormula::given || recipe.forward == FormatId::e2m1) continue;
    Damaged weight(recipe.name, {256, 384});
    for (const bool with_source : {true, false}) {
      const TensorReport report = weight.verified(with_source, nothing);
      EXPECT_TRUE(report.holds()) << recipe.name << " " << with_source << " " << kinds_of(report);
      EXPECT_EQ(report.sweep.elements, 256 * 384);
    }
  }
}

TEST(Sweep, OneWrongByteHasItsPlaceAndItsValues) {
  for (const char* recipe : {"te-block-128x128", "te-block-1x128", "te-mxfp8", "te-current"}) {
    Damaged weight(recipe, {256, 384});
    std::uint8_t right = 0;
    const TensorReport report = weight.verified(true, [&](auto& codes, auto&) {
      right = codes[200 * 384 + 300];
      codes[200 * 384 + 300] = static_cast<std::uint8_t>(right ^ 0x09);
    });
    ASSERT_EQ(report.sweep.broken_blocks, 1) << recipe;
    EXPECT_EQ(report.sweep.wrong_codes, 1);
    EXPECT_EQ(report.sweep.wrong_scales, 0);
    const BrokenBlock& broken = report.sweep.broken.at(0);
    EXPECT_EQ(broken.element, 200 * 384 + 300);
    EXPECT_EQ(broken.block, weight.blocks().of(200 * 384 + 300));
    EXPECT_EQ(broken.right_code, right);
    EXPECT_EQ(broken.code, right ^ 0x09);
    EXPECT_EQ(report.examples.at(0).source, weight.values()[200 * 384 + 300]);
  }
}

TEST(Sweep, NaNCodesAreSeenWithoutASource) {
  for (const char* recipe : {"te-block-128x128", "te-mxfp8", "te-current"}) {
    Damaged weight(recipe, {256, 384});
    const TensorReport report = weight.verified(false, [](auto& codes, auto&) { codes[77] = 0xFF; });
    EXPECT_EQ(report.sweep.broken_blocks, 1) << recipe;
    EXPECT_EQ(report.sweep.broken.at(0).clause, "F8");
    EXPECT_EQ(report.sweep.broken.at(0).element, 77);
  }
}

TEST(Sweep, ScalesThatAreNone) {
  Damaged weight("te-block-128x128", {256, 384});
  const TensorReport report = weight.verified(false, [](auto&, auto& scales) {
    scales[0] = 0;           // zero
    scales[1] = 0x7f800000;  // infinity
    scales[2] = 0xbf800000;  // -1
    scales[3] = 0x3fc00000;  // 1.5: no power of two
  });
  ASSERT_EQ(report.sweep.broken_blocks, 4);
  EXPECT_EQ(report.sweep.broken[0].clause, "F21");
  EXPECT_EQ(report.sweep.broken[1].clause, "F21");
  EXPECT_EQ(report.sweep.broken[2].clause, "F21");
  EXPECT_EQ(report.sweep.broken[3].clause, "F20");
}

TEST(Sweep, KeepsTheFirstOfManyBrokenBlocks) {
  Damaged weight("te-mxfp8", {512, 1024});
  const TensorReport report = weight.verified(true, [](auto&, auto& scales) {
    for (auto& scale : scales) ++scale;
  });
  EXPECT_EQ(report.sweep.broken_blocks, 512 * 32);
  EXPECT_EQ(report.sweep.wrong_scales, 512 * 32);
  ASSERT_EQ(report.sweep.broken.size(), kKept);
  for (std::size_t i = 0; i < kKept; ++i)
    ASSERT_EQ(report.sweep.broken[i].block, static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace shardcheck::verify
