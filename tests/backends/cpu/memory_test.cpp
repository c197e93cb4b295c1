#include "backends/cpu/memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace shardcheck::cpu {
namespace {

Plan plan_with(DType type, std::int64_t numel, BufferRole role) {
  Plan plan;
  plan.ranks = 2;
  plan.buffers.push_back({"b", role, type, numel});
  return plan;
}

const BufferId kFirst{0};

TEST(Memory, PoisonIsOfTheTypeAndOnThatRankOnly) {
  for (DType type : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::u8}) {
    Plan plan = plan_with(type, 37, BufferRole::main_grad);
    for (Poison poison : {Poison::quiet_nan, Poison::large}) {
      plan.poison = poison;
      Memory memory;
      fill_with_poison(memory.allocate(plan, Rank{1}, kFirst), poison);
      const Range range = memory.at(plan, Rank{1}, {kFirst, 0, 37});
      for (int i = 0; i < 37; ++i) {
        std::uint32_t code = 0;
        std::memcpy(&code, range.data + i * bytes_of(type), static_cast<std::size_t>(bytes_of(type)));
        ASSERT_EQ(code, poison_bits(poison, type)) << name_of(type);
      }
      EXPECT_DEATH(memory.at(plan, Rank{0}, {kFirst, 0, 1}), "before its Allocate");
    }
  }
}

TEST(Memory, StorageIsReusedByALaterPlan) {
  const Plan large = plan_with(DType::f32, 1000, BufferRole::main_grad);
  const Plan small = plan_with(DType::bf16, 10, BufferRole::main_grad);
  Memory memory;
  memory.allocate(large, Rank{0}, kFirst);
  const std::byte* data = memory.at(large, Rank{0}, {kFirst, 0, 1}).data;
  memory.allocate(small, Rank{0}, kFirst);
  EXPECT_EQ(memory.at(small, Rank{0}, {kFirst, 0, 1}).data, data);
  memory.allocate(large, Rank{0}, kFirst);
  EXPECT_EQ(memory.at(large, Rank{0}, {kFirst, 0, 1}).data, data);
}

TEST(Memory, APlanStartsAfreshButForInputsAndNewWrites) {
  for (BufferRole role : {BufferRole::inputs, BufferRole::main_grad}) {
    const Plan plan = plan_with(DType::f32, 4, role);
    Memory memory;
    memory.allocate_for_write(plan, Rank{0}, kFirst);
    memory.start(plan);
    memory.at(plan, Rank{0}, {kFirst, 0, 4});  // written since the last execution
    memory.finish();
    memory.start(plan);
    if (role == BufferRole::inputs) {
      memory.at(plan, Rank{0}, {kFirst, 0, 4});
    } else {
      EXPECT_DEATH(memory.at(plan, Rank{0}, {kFirst, 0, 4}), "before its Allocate");
    }
  }
}

TEST(Memory, ViewsAreChecked) {
  const Plan plan = plan_with(DType::f16, 10, BufferRole::inputs);
  Memory memory;
  memory.allocate(plan, Rank{0}, kFirst);
  EXPECT_EQ(memory.at(plan, Rank{0}, {kFirst, 3, 7}).bytes(), 14);
  EXPECT_EQ(memory.at(plan, Rank{0}, {kFirst, 10, 0}).bytes(), 0);
  EXPECT_DEATH(memory.at(plan, Rank{0}, {kFirst, 3, 8}), "leaves its buffer");
  EXPECT_DEATH(memory.at(plan, Rank{0}, {kFirst, -1, 2}), "leaves its buffer");
  EXPECT_DEATH(memory.at(plan, Rank{0}, {kFirst, 1, INT64_MAX}), "leaves its buffer");
  EXPECT_DEATH(memory.at(plan, Rank{0}, {BufferId{1}, 0, 1}), "");
  EXPECT_DEATH(memory.at(plan, Rank{2}, {kFirst, 0, 1}), "");
}

}  // namespace
}  // namespace shardcheck::cpu
