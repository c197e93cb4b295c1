// Rows of a stored matrix and of its transpose, in any ranges.
#include "core/checkpoint/matrix_rows.h"

#include <gtest/gtest.h>

#include "core/numerics/narrow.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

constexpr recipe::Extent kExtent{150, 7};

/// Element (r, c) is r * 7 + c + 1, as bf16 exactly.
class MatrixRowsTest : public testing::Test {
 protected:
  MatrixRowsTest() {
    std::vector<std::uint16_t> codes;
    for (int i = 0; i < 150 * 7; ++i) codes.push_back(f32_to_bf16(static_cast<float>(i % 256 + 1)));
    SafetensorsWriter writer(folder.path() / "m.safetensors",
                             std::vector<NewTensor>{{"pad", DType::u8, {3}}, {"w", DType::bf16, {150, 7}}});
    writer.append(std::vector<std::byte>(3));
    writer.append(std::as_bytes(std::span(codes)));
    writer.finish();
    files.emplace(folder.path() / "m.safetensors");
  }
  static float value(std::int64_t r, std::int64_t c) { return static_cast<float>((r * 7 + c) % 256 + 1); }
  TempFolder folder;
  std::optional<TensorFiles> files;
};

TEST_F(MatrixRowsTest, AsItLies) {
  const MatrixRows rows(*files->find("w"), Turned::no);
  EXPECT_EQ(rows.extent(), kExtent);
  std::vector<float> some(3 * 7);
  rows.read({100, 103}, some);
  for (std::int64_t i = 0; i < 21; ++i)
    EXPECT_EQ(some[static_cast<std::size_t>(i)], value(100 + i / 7, i % 7));
}

TEST_F(MatrixRowsTest, Transposed) {
  const MatrixRows rows(*files->find("w"), Turned::yes);
  EXPECT_EQ(rows.extent(), kExtent.transposed());
  std::vector<float> some(4 * 150);
  rows.source().read({2, 6}, some);
  for (std::int64_t i = 0; i < 600; ++i)
    ASSERT_EQ(some[static_cast<std::size_t>(i)], value(i % 150, 2 + i / 150)) << i;
}

}  // namespace
}  // namespace shardcheck::checkpoint
