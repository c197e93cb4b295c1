// What each action reads and writes, and the bits of poison.
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

TEST(Plan, AccessOfEveryAction) {
  struct Row {
    Action action;
    unsigned reads, writes;
    bool event = false;
  };
  const Row rows[] = {
      {Allocate{}, 0, 0b1},
      {Undefine{}, 0, 0b1},
      {Fill{}, 0, 0b1},
      {Gemm{.accumulate = false}, 0b011, 0b100},
      {Gemm{.accumulate = true}, 0b111, 0b100},
      {Copy{}, 0b01, 0b10},
      {Cast{}, 0b01, 0b10},
      {Quantize{}, 0b011, 0b100},
      {Dequantize{}, 0b011, 0b100},
      {Matmul{.accumulate = false}, 0b01111, 0b10000},
      {Matmul{.accumulate = true}, 0b11111, 0b10000},
      {TakeAmax{}, 0b11, 0b10},
      {ScaleFromAmax{}, 0b001, 0b110},
      {QuantizeBlocks{}, 0b011, 0b100},
      {DequantizeBlocks{}, 0b011, 0b100},
      {QuantizeMatrix{}, 0b00001, 0b11110},
      {DeriveColumnCopy{}, 0b0011, 0b1100},
      {CloseDelayedStep{}, 0b111, 0b110},
      {Add{}, 0b11, 0b10},
      {Scale{}, 0b1, 0b1},
      {Communicate{}, 0b01, 0b10},
      {Enqueue{}, 0, 0, true},
      {SgdStep{}, 0b11, 0b10},
      {Record{}, 0, 0},
      {Wait{}, 0, 0},
      {BeginGraph{}, 0, 0, true},
      {EndGraph{}, 0, 0, true},
      {BeginStep{}, 0, 0, true},
      {BeginMicrobatch{}, 0, 0, true},
      {OpenLease{}, 0, 0b1},
      {Acquire{}, 0, 0, true},
      {CloseLease{}, 0, 0, true},
      {Flag{}, 0, 0, true},
      {Return{}, 0, 0, true},
      {Hook{}, 0, 0, true},
      {Ready{}, 0, 0, true},
      {Finish{}, 0, 0, true},
      {EndStep{}, 0, 0, true},
      {BeginRecompute{}, 0, 0, true},
      {EndRecompute{}, 0, 0, true},
      {Interrupt{}, 0, 0, true},
  };
  ASSERT_EQ(std::size(rows), std::variant_size_v<Action> + 2) << "a row an action, two for those with a beta";
  for (const Row& row : rows) {
    EXPECT_EQ(access_of(row.action).reads, row.reads) << row.action.index();
    EXPECT_EQ(access_of(row.action).writes, row.writes) << row.action.index();
    EXPECT_EQ(is_event(row.action), row.event) << row.action.index();
  }
}

TEST(Plan, PoisonIsAQuietNanOrLarge) {
  const auto f32 = [](Poison p) { return std::bit_cast<float>(poison_bits(p, DType::f32)); };
  const auto bf16 = [](Poison p) {
    return bf16_to_f32(static_cast<std::uint16_t>(poison_bits(p, DType::bf16)));
  };
  const auto f16 = [](Poison p) {
    return f16_to_f32(static_cast<std::uint16_t>(poison_bits(p, DType::f16)));
  };
  for (const float nan : {f32(Poison::quiet_nan), bf16(Poison::quiet_nan), f16(Poison::quiet_nan)})
    EXPECT_TRUE(std::isnan(nan));
  EXPECT_TRUE(poison_bits(Poison::quiet_nan, DType::f32) >> 22 & 1) << "quiet";
  int exponent = 0;
  for (const float large : {f32(Poison::large), bf16(Poison::large)}) {
    EXPECT_NE(std::frexp(large, &exponent), 0.5f) << "not a power of two";
    EXPECT_EQ(exponent, 97);
  }
  EXPECT_EQ(f16(Poison::large), 40096.0f);
}

TEST(Plan, NamesAreDistinct) {
  std::set<std::string_view> purposes, roles, rules;
  constexpr int kPurposes = static_cast<int>(Purpose::recompute) + 1;
  for (int i = 0; i < kPurposes; ++i) purposes.insert(name_of(static_cast<Purpose>(i)));
  constexpr int kRoles = static_cast<int>(BufferRole::activations) + 1;
  for (int i = 0; i < kRoles; ++i) roles.insert(name_of(static_cast<BufferRole>(i)));
  for (int i = 0; i <= static_cast<int>(BetaRule::captured); ++i)
    rules.insert(name_of(static_cast<BetaRule>(i)));
  EXPECT_EQ(std::ssize(purposes), kPurposes);
  EXPECT_EQ(std::ssize(roles), kRoles);
  EXPECT_EQ(rules.size(), 9u);
}

}  // namespace
}  // namespace shardcheck
