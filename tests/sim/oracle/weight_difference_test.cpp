// What wrong bytes are called: each kind of difference by its clause, with element and values.
#include "sim/oracle/weight_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "tests/sim/scenario/cases.h"

namespace shardcheck::tests {
namespace {

class WeightDifference : public ::testing::Test {
 protected:
  void start(const std::string& recipe, std::int64_t side) {
    scenario_ = small_scenario();
    scenario_.parameters[0].shape = {side, side};
    scenario_.fp8.emplace();
    scenario_.fp8->recipe = recipe;
    model_.emplace(scenario_, 0);
    std::vector<float> values(static_cast<std::size_t>(side * side));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5f + static_cast<float>(i % 97) * 0.25f;
    model_->create(values);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.5f - static_cast<float>(i % 89) * 0.5f;
    model_->step(values);
  }
  Finding explained(recipe::Direction direction, bool is_scales, std::vector<std::byte> bytes,
                    WeightContext context) {
    Finding finding;
    const ReadCopy read{direction, is_scales, 0, bytes};
    EXPECT_FALSE(is_right(*model_, read));
    explain(*model_, read, context, finding);
    return finding;
  }
  static std::vector<std::byte> bytes_of_codes(const recipe::QuantizedCopy& copy) {
    const auto bytes = std::as_bytes(std::span(copy.codes));
    return {bytes.begin(), bytes.end()};
  }
  using D = recipe::Direction;
  Scenario scenario_;
  std::optional<WeightModel> model_;
};

TEST_F(WeightDifference, CodesOfTheVersionBeforeAreStale) {
  start("te-current", 4);
  const Finding finding = explained(D::row, false, bytes_of_codes(model_->before().row), {});
  EXPECT_EQ(finding.clause, "F50");
  EXPECT_EQ(finding.sentence, "the codes are those of version 0, and this step needs version 1");
  EXPECT_EQ(finding.expected.dtype, DType::e4m3);
  auto mixed = bytes_of_codes(model_->now().row);
  std::ranges::copy(bytes_of_codes(model_->before().row) | std::views::take(8), mixed.begin());
  EXPECT_EQ(explained(D::row, false, mixed, {}).clause, "F50");
}

TEST_F(WeightDifference, AFlippedCodeIsNamedByElement) {
  start("te-current", 4);
  auto bytes = bytes_of_codes(model_->now().column);
  bytes[1] ^= std::byte{1};
  const Finding finding = explained(D::column, false, bytes, {});
  EXPECT_EQ(finding.clause, "F40");
  EXPECT_EQ(finding.element, 4) << "the transpose has column 0 in its first row";
  EXPECT_EQ(finding.actual.bits ^ finding.expected.bits, 1u);
}

TEST_F(WeightDifference, AnUntransposedCopy) {
  start("te-current", 4);
  EXPECT_EQ(explained(D::column, false, bytes_of_codes(model_->now().row), {}).clause, "F32");
  start("te-mxfp8", 32);
  EXPECT_EQ(explained(D::column, false, bytes_of_codes(model_->now().row), {}).clause, "F34");
}

TEST_F(WeightDifference, BytesThatNobodyWrote) {
  start("te-current", 4);
  auto bytes = bytes_of_codes(model_->now().row);
  for (std::size_t i = 3; i < bytes.size(); ++i) bytes[i] = std::byte{0x7F};
  const Finding finding = explained(D::row, false, bytes, {});
  EXPECT_EQ(finding.clause, "F50");
  EXPECT_EQ(finding.element, 3);
}

TEST_F(WeightDifference, ScalesByWhoHasThem) {
  start("te-current", 4);
  auto plane = model_->now().row.scales.bytes;
  const auto right = plane;
  plane[0] ^= std::byte{1};
  const std::vector<std::vector<std::byte>> differ = {plane, right}, agree = {plane, plane};
  EXPECT_EQ(explained(D::row, true, plane, {.peers = differ}).clause, "F41");
  EXPECT_EQ(explained(D::row, true, plane, {.peers = agree}).clause, "F48");
  EXPECT_EQ(explained(D::row, true, plane, {.is_reloaded = true, .peers = agree}).clause, "F53");
  EXPECT_EQ(explained(D::row, true, plane, {.is_skipped_step = true, .peers = agree}).clause, "F56");
  start("te-delayed", 4);
  plane = model_->now().row.scales.bytes;
  plane[0] ^= std::byte{1};
  EXPECT_EQ(explained(D::row, true, plane, {.peers = agree}).clause, "F54");
}

TEST_F(WeightDifference, AnUntransposedGrid) {
  scenario_ = small_scenario();
  scenario_.parameters[0].shape = {256, 256};
  scenario_.fp8.emplace();
  scenario_.fp8->recipe = "te-block-128x128";
  std::vector<float> values(256 * 256, 1.0f);
  for (std::size_t i = 0; i < 128; ++i) values[128 + i] = 64.0f;  // block (0, 1)
  model_.emplace(scenario_, 0);
  model_->create(values);
  EXPECT_EQ(explained(D::column, true, model_->now().row.scales.bytes, {}).clause, "F33");
}

}  // namespace
}  // namespace shardcheck::tests
