// Versions of an FP8 weight in worked numbers of fp8 3.1 and 3.8.
#include "sim/oracle/weight_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/sim/scenario/cases.h"

namespace shardcheck::tests {
namespace {

Scenario one_weight(const std::string& recipe, std::vector<std::int64_t> shape) {
  Scenario s = small_scenario();
  s.parameters[0].shape = std::move(shape);
  s.fp8.emplace();
  s.fp8->recipe = recipe;
  return s;
}

std::uint32_t scale_bits(const WeightVersion& version) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, version.row.scales.bytes.data(), sizeof bits);
  return bits;
}

TEST(WeightModel, MiniatureM1) {
  const Scenario s = one_weight("te-current", {1, 3});
  WeightModel model(s, 0);
  model.create(std::vector<float>{12, 3, 0.01f});
  EXPECT_EQ(model.now().row.codes, (std::vector<std::uint8_t>{0x7E, 0x6E, 0x2C}));
  EXPECT_EQ(scale_bits(model.now()), 0x3CDB6DB7u);
}

TEST(WeightModel, MiniatureM6DelayedScalesFollowEarlierAmaxes) {
  Scenario s = one_weight("te-delayed", {1, 1});
  s.fp8->history = 3;
  WeightModel model(s, 0);
  // Scales used: 1, 128, 128, 37.33; the stored inverse goes with the codes.
  model.create(std::vector<float>{3.5f});
  EXPECT_EQ(scale_bits(model.now()), std::bit_cast<std::uint32_t>(1.0f));
  model.step(std::vector<float>{0.75f});
  EXPECT_EQ(scale_bits(model.now()), std::bit_cast<std::uint32_t>(1.0f / 128));
  model.step(std::vector<float>{12});
  EXPECT_EQ(scale_bits(model.now()), std::bit_cast<std::uint32_t>(1.0f / 128));
  EXPECT_EQ(model.now().row.codes[0], 0x7E) << "12 * 128 saturates";
  model.step(std::vector<float>{12});
  EXPECT_EQ(scale_bits(model.now()), 0x3CDB6DB7u) << "1 / 37.33";
}

TEST(WeightModel, MastersComeFromTheInitialValueOrFromCodes) {
  Scenario s = one_weight("te-current", {1, 2});
  const std::vector<float> initial = {448, 1.03125f};
  WeightModel kept(s, 0);
  kept.create(initial);
  EXPECT_EQ(kept.masters(), initial);
  s.fp8->masters = Masters::from_bytes;
  WeightModel coded(s, 0);
  coded.create(initial);
  EXPECT_EQ(coded.masters(), (std::vector<float>{448, 1.0f})) << "Q45";
}

TEST(WeightModel, MastersAreRoundedToTheModelsTypeFirst) {
  const Scenario s = one_weight("te-current", {1, 2});  // bf16
  WeightModel model(s, 0);
  model.create(std::vector<float>{448, 1});
  // Just above the midpoint of two codes in fp32, on it in bf16: to the even one (F47).
  model.step(std::vector<float>{448, std::bit_cast<float>(0x3F880001u)});
  EXPECT_EQ(model.now().row.codes[1], 0x38);
  EXPECT_EQ(model.unrounded().row.codes[1], 0x39);
  EXPECT_EQ(model.before().row.codes[1], 0x38);
  EXPECT_EQ(model.version(), 1);
}

TEST(WeightModel, MiniatureM5ColumnsOfMxAreAnotherQuantisation) {
  const Scenario s = one_weight("te-mxfp8", {32, 32});
  std::vector<float> initial(32 * 32, 0.0f);
  initial[0] = 7168;
  initial[1] = 0.046875f;
  WeightModel model(s, 0);
  model.create(initial);
  EXPECT_EQ(model.now().row.codes[1], 0x02);
  EXPECT_EQ(model.now().column.codes[1], 0x7C);
}

}  // namespace
}  // namespace shardcheck::tests
