// Every recipe, both copies, both shapes of scales: the bytes of the new file are those of quantize() on the
// whole matrix; other tensors are the bytes that they were.
#include "core/checkpoint/quantize_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "core/numerics/narrow.h"
#include "core/recipe/catalogue.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

using namespace recipe;

constexpr Extent kMatrix{256, 384};

std::vector<std::byte> bytes_in(const TensorFiles& files, std::string_view name) {
  const StoredTensor* tensor = files.find(name);
  if (tensor == nullptr) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor->entry->end - tensor->entry->begin));
  tensor->file->read(*tensor->entry, 0, bytes);
  return bytes;
}

std::vector<std::byte> as_bytes_of(std::span<const std::uint8_t> codes) {
  const auto bytes = std::as_bytes(codes);
  return {bytes.begin(), bytes.end()};
}

class QuantizeFileTest : public testing::Test {
 protected:
  QuantizeFileTest() {
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<std::uint16_t> codes;
    for (std::int64_t i = 0; i < kMatrix.numel(); ++i) {
      codes.push_back(f32_to_bf16(normal(random)));
      values.push_back(bf16_to_f32(codes.back()));
    }
    write("in.safetensors", codes);
  }
  void write(const char* name, std::span<const std::uint16_t> codes) {
    const std::vector<NewTensor> tensors = {{.name = "ids", .shape = {3}, .type = *find_element_type("I64")},
                                            {"w", DType::bf16, {kMatrix.rows, kMatrix.columns}},
                                            {"norm", DType::f32, {2}}};
    SafetensorsWriter writer(folder.path() / name, tensors, {{"from", "a test"}});
    writer.append(std::vector<std::byte>(24, std::byte{1}));
    writer.append(std::as_bytes(codes));
    writer.append(std::vector<std::byte>(8, std::byte{2}));
    writer.finish();
  }
  QuantizePlan plan_of(const TensorFiles& in, std::string_view recipe) const {
    QuantizePlan plan{.recipe = find_recipe(recipe), .copies = {Direction::row, Direction::column}};
    plan.tensors = tensors_to_quantize(in, *plan.recipe, [](const std::string&) { return true; });
    return plan;
  }
  std::filesystem::path out() const { return folder.path() / "out.safetensors"; }
  TempFolder folder;
  std::vector<float> values;
};

/// The column copy as one quantisation; its scales as the recipe stores them.
void expect_copy(const TensorFiles& files, const Recipe& recipe, Direction copy, const Matrix& matrix) {
  const QuantizedCopy expected = quantize(recipe, {copy, recipe.forward, 1}, matrix);
  const CopyNames names = names_of(recipe, copy, "w");
  const bool is_packed = recipe.forward == FormatId::e2m1;
  EXPECT_EQ(bytes_in(files, names.codes),
            as_bytes_of(is_packed ? packed_fp4(expected.codes) : expected.codes));
  EXPECT_EQ(bytes_in(files, names.scales), expected.scales.bytes);
  if (recipe.formula != ScaleFormula::two_level) return;
  float inverse = 0;
  std::memcpy(&inverse, bytes_in(files, names.tensor_scale).data(), sizeof(inverse));
  EXPECT_EQ(inverse, expected.tensor_inverse);
}

TEST_F(QuantizeFileTest, IsTheCopyOfTheWholeByEveryRecipe) {
  const TensorFiles in(folder.path() / "in.safetensors");
  for (const Recipe& recipe : recipes()) {
    if (recipe.formula == ScaleFormula::given) continue;
    SCOPED_TRACE(recipe.name);
    QuantizePlan plan = plan_of(in, recipe.name);
    plan.shape = ScaleShape::padded;
    ASSERT_TRUE(write_quantized(in, plan, out(), {.threads = 2}));
    const TensorFiles files(out());
    expect_copy(files, recipe, Direction::row, {kMatrix, values});
    expect_copy(files, recipe, Direction::column, {kMatrix, values});
    EXPECT_EQ(bytes_in(files, "ids"), std::vector<std::byte>(24, std::byte{1}));
    EXPECT_EQ(bytes_in(files, "norm"), std::vector<std::byte>(8, std::byte{2}));
    EXPECT_EQ(files.find("ids")->entry->type.name, "I64");
    EXPECT_EQ(files.metadata("shardcheck.recipe"), recipe.name);
    EXPECT_EQ(files.metadata("shardcheck.scales"), "padded");
    EXPECT_EQ(files.metadata("from"), "a test");
  }
  EXPECT_EQ(names_in(folder.path()), "in.safetensors out.safetensors");
}

TEST_F(QuantizeFileTest, AGridIsOneScaleABlockInOrder) {
  const TensorFiles in(folder.path() / "in.safetensors");
  ASSERT_TRUE(write_quantized(in, plan_of(in, "te-block-1x128"), out(), {}));
  const TensorFiles files(out());
  EXPECT_EQ(files.find("w_scale_inv")->entry->shape, (std::vector<std::int64_t>{256, 3}));
  const QuantizedCopy rows =
      quantize(*find_recipe("te-block-1x128"), {Direction::row, FormatId::e4m3, 1}, {kMatrix, values});
  const auto grid = grid_in(rows.scales, find_recipe("te-block-1x128")->row_scales);
  EXPECT_EQ(std::memcmp(grid.data(), bytes_in(files, "w_scale_inv").data(), grid.size() * 4), 0);
}

TEST_F(QuantizeFileTest, AnInfinityIsRefusedByNameUnlessTheRecipeShallDecide) {
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(kMatrix.numel()), 0x3f80);
  codes[384 * 5 + 17] = 0xff80;
  write("bad.safetensors", codes);
  const TensorFiles in(folder.path() / "bad.safetensors");
  QuantizePlan plan = plan_of(in, "te-block-128x128");
  for (const auto& copies : {std::vector{Direction::row}, std::vector{Direction::column}}) {
    plan.copies = copies;
    const std::string said = sentence_of([&] { write_quantized(in, plan, out(), {}); });
    EXPECT_NE(said.find("tensor \"w\": element (5, 17) is -inf"), std::string::npos) << said;
  }
  EXPECT_EQ(names_in(folder.path()), "bad.safetensors in.safetensors");  // nothing half-written
  plan.nonfinite = NonFinite::by_recipe;
  EXPECT_TRUE(write_quantized(in, plan, out(), {}));
}

TEST_F(QuantizeFileTest, ASecondQuantisationWouldGiveANameTwice) {
  const std::vector<NewTensor> tensors = {{"w", DType::bf16, {128, 128}},
                                          {"w_scale_inv", DType::f32, {1, 1}}};
  SafetensorsWriter writer(folder.path() / "twice.safetensors", tensors);
  writer.append(std::vector<std::byte>(128 * 128 * 2 + 4));
  writer.finish();
  const TensorFiles in(folder.path() / "twice.safetensors");
  const std::string said = sentence_of([&] { write_quantized(in, plan_of(in, "dg-128x128"), out(), {}); });
  EXPECT_NE(said.find("two tensors \"w_scale_inv\""), std::string::npos) << said;
}

TEST_F(QuantizeFileTest, StoppedIsNothing) {
  const TensorFiles in(folder.path() / "in.safetensors");
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(write_quantized(in, plan_of(in, "te-mxfp8"), out(), {.stop = &stop}));
  EXPECT_EQ(names_in(folder.path()), "in.safetensors");
}

TEST_F(QuantizeFileTest, ProgressEndsAtAllBytes) {
  const TensorFiles in(folder.path() / "in.safetensors");
  std::int64_t last = 0;
  const WriteOptions options{.threads = 2, .progress = [&](std::int64_t bytes) { last = bytes; }};
  ASSERT_TRUE(write_quantized(in, plan_of(in, "te-mxfp8"), out(), options));
  EXPECT_EQ(last, kMatrix.numel() * 2 + 24 + 8);
}

}  // namespace
}  // namespace shardcheck::checkpoint
