// Ops of blocks on the reference backend give what core/recipe gives, for every recipe that they have and
// both directions.
#include "properties/recipe_law/block_machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

using namespace recipe;

constexpr Extent kExtent{5, 70};

std::vector<float> numbers() {
  std::vector<float> values;
  for (std::int64_t i = 0; i < kExtent.numel(); ++i)
    values.push_back(std::ldexp(static_cast<float>(i * 37 % 101) - 50.0f, static_cast<int>(i % 9) - 4));
  return values;
}

TEST(BlockMachine, EqualsTheRecipes) {
  const auto backend = make_cpu_backend(kIdeal);
  const BlockMachine machine(*backend);
  const std::vector<float> values = numbers();
  int recipes_with_ops = 0;
  for (const Recipe& each : recipes()) {
    if (!has_block_ops(each, each.forward)) continue;
    SCOPED_TRACE(each.name);
    ++recipes_with_ops;
    for (const Direction direction : {Direction::row, Direction::column}) {
      const Wanted wanted{direction, each.forward, 1};
      const QuantizedCopy copy = machine.quantized(each, wanted, {kExtent, values});
      EXPECT_EQ(copy, quantize(each, wanted, {kExtent, values}));
      EXPECT_EQ(machine.dequantized(each, copy), dequantize(each, copy));
    }
    const Blocks blocks = blocks_of(each, Direction::row, kExtent);
    std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()));
    machine.take_amaxes(each, blocks, {0, std::span(values).first(100)}, amaxes);
    machine.take_amaxes(each, blocks, {100, std::span(values).subspan(100)}, amaxes);
    machine.take_amaxes(each, blocks, {7, {}}, amaxes);
    EXPECT_EQ(amaxes, amaxes_of(each, Direction::row, {kExtent, values}));
    amaxes.push_back(std::numeric_limits<float>::infinity());
    EXPECT_EQ(machine.scales(each, amaxes).blocks.size(), amaxes.size());
    amaxes.pop_back();
    EXPECT_EQ(machine.scales(each, amaxes).blocks, scales_of(each, each.forward, {.amaxes = amaxes}).blocks);
  }
  EXPECT_GT(recipes_with_ops, 15);
}

TEST(BlockMachine, SaysWhatOpsDoNotHave) {
  EXPECT_FALSE(has_block_ops(*find_recipe("te-nvfp4"), FormatId::e2m1));
  EXPECT_FALSE(has_block_ops(*find_recipe("te-delayed"), FormatId::e4m3));
  const Recipe changed = *find_recipe("te-current");
  EXPECT_FALSE(has_block_ops(changed, FormatId::e4m3));
  EXPECT_TRUE(has_block_ops(*find_recipe("te-current"), FormatId::e5m2));
}

}  // namespace
}  // namespace shardcheck
