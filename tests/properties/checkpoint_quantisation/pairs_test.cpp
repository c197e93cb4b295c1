// Codes find their scales by name, recipes by type and shape; what fits none is said in one sentence.
#include "properties/checkpoint_quantisation/pairs.h"

#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::verify {
namespace {

using checkpoint::NewTensor;

class PairsTest : public testing::Test {
 protected:
  const Contents& contents(const std::vector<NewTensor>& tensors) {
    const auto path = folder.path() / "m.safetensors";
    {
      checkpoint::SafetensorsWriter writer(path, tensors);
      std::int64_t bytes = 0;
      for (const NewTensor& tensor : tensors) {
        std::int64_t numel = bytes_of(tensor.dtype);
        for (const std::int64_t extent : tensor.shape) numel *= extent;
        bytes += numel;
      }
      writer.append(std::vector<std::byte>(static_cast<std::size_t>(bytes)));
      writer.finish();
    }
    files.emplace(path);
    std::filesystem::remove(path);
    found = contents_of(*files, [](const std::string&) { return true; });
    return found;
  }
  std::string candidates(std::size_t pair = 0) const {
    std::string names;
    for (const Candidate& candidate : candidates_of(found.pairs.at(pair)))
      names += std::string(candidate.recipe->name) + " ";
    return names;
  }
  checkpoint::TempFolder folder;
  std::optional<checkpoint::TensorFiles> files;
  Contents found;
};

TEST_F(PairsTest, APublicCheckpointOf128x128Blocks) {
  contents({{"w", DType::e4m3, {576, 512}}, {"w_scale_inv", DType::f32, {5, 4}}, {"norm", DType::bf16, {4}}});
  ASSERT_EQ(found.pairs.size(), 1u);
  EXPECT_EQ(found.others.size(), 1u);
  EXPECT_EQ(candidates(), "te-block-128x128 te-block-128x128-fp32 dg-128x128 dg-128x128-pow2 ");
}

TEST_F(PairsTest, OtherShapesOfScales) {
  contents({{"a", DType::e4m3, {256, 512}},
            {"a_scale", DType::u8, {256, 16}},
            {"b", DType::e5m2, {256, 512}},
            {"b_scale", DType::f32, {}},
            {"c", DType::e4m3, {256, 512}},
            {"c_scale", DType::f32, {256}},
            {"d", DType::u8, {256, 256}},
            {"d_scale", DType::e4m3, {256, 32}},
            {"d_scale_2", DType::f32, {1}},
            {"a_columnwise", DType::e4m3, {256, 512}},
            {"a_columnwise_scale", DType::u8, {8, 512}}});
  ASSERT_EQ(found.pairs.size(), 5u);
  EXPECT_EQ(candidates(0), "te-mxfp8 ao-mxfp8-rceil ao-mxfp8-floor ao-mxfp8-ceil ao-mxfp8-even ");
  EXPECT_EQ(found.pairs[1].elements, FormatId::e5m2);
  EXPECT_EQ(candidates(1), "te-current te-current-pow2 ao-tensorwise ao-tensorwise-pow2 ");
  EXPECT_EQ(candidates(2), "ao-rowwise ");
  EXPECT_EQ(found.pairs[3].extent, (recipe::Extent{256, 512}));
  EXPECT_EQ(candidates(3), "te-nvfp4 ");
  EXPECT_EQ(found.pairs[4].copy(), recipe::Direction::column);
  EXPECT_EQ(found.pairs[4].source_name(), "a");
  EXPECT_EQ(candidates(4).substr(0, 9), "te-mxfp8 ");
}

TEST_F(PairsTest, WhatIsNoPair) {
  contents(
      {{"lone", DType::e4m3, {4, 4}}, {"stack", DType::e4m3, {2, 4, 4}}, {"stack_scale", DType::f32, {2}}});
  ASSERT_EQ(found.unpaired.size(), 2u);
  EXPECT_TRUE(found.unpaired[0].is_wrong);
  EXPECT_NE(found.unpaired[0].sentence.find("neither lone_scale_inv nor lone_scale is there"),
            std::string::npos);
  EXPECT_FALSE(found.unpaired[1].is_wrong);
}

TEST_F(PairsTest, MismatchesSayWhatWouldBeRight) {
  contents({{"w", DType::e4m3, {256, 640}}, {"w_scale_inv", DType::f32, {5, 2}}});
  const std::string said = mismatch_of(*recipe::find_recipe("te-block-128x128"), found.pairs[0]);
  EXPECT_NE(said.find("w_scale_inv are F32 of shape [5, 2]"), std::string::npos) << said;
  EXPECT_NE(said.find("F32 of shape [2, 5], or [2, 8] where products read them"), std::string::npos) << said;
  EXPECT_NE(said.find("the grid transposed (F33)"), std::string::npos) << said;
  EXPECT_NE(
      mismatch_of(*recipe::find_recipe("te-mxfp8"), found.pairs[0]).find("U8 or F8_E8M0 of shape [256, 20]"),
      std::string::npos);
  EXPECT_NE(mismatch_of(*recipe::find_recipe("te-nvfp4"), found.pairs[0]).find("its codes are e4m3"),
            std::string::npos);
  EXPECT_EQ(candidates(), "");
  EXPECT_NE(mismatch_of_all(found.pairs[0]).find("F32 of [2, 5] are scales of 128 x 128 blocks"),
            std::string::npos);
}

}  // namespace
}  // namespace shardcheck::verify
