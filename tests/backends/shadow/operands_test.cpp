// Operands are what they were before the op, whether it overwrites them or not.
#include "backends/shadow/operands.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::shadowing {
namespace {

class OperandsTest : public testing::Test {
 protected:
  OperandsTest() {
    addend = rig.buffer(DType::f32, 4);
    sum = rig.buffer(DType::f32, 4);
    rig.op(Add{}).on(addend).on(sum);
    for (int rank = 0; rank < 2; ++rank) {
      rig.write(rank, addend, {0x3F800000u, 0x40000000u, 0x40400000u, 0x40800000u});  // 1 2 3 4
      rig.write(rank, sum, {0x41200000u, 0x41200000u, 0x41200000u, 0x41200000u});     // 10
    }
  }
  const Op& op() const { return rig.plan.ops[0]; }

  test::Rig rig{"cpu", "ideal", 2};
  View addend, sum;
};

TEST_F(OperandsTest, AreThoseBeforeTheOp) {
  EXPECT_TRUE(Operands::is_overwritten(rig.plan, op()));
  Operands operands(rig.backend());
  operands.keep(rig.plan, op(), 1 << 20);
  rig.run();
  const auto values = operands.elements({1, 1}, {1, 2, 2});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].value, 10);
  EXPECT_EQ(values[1].bits, 0x41200000u);
  EXPECT_EQ(operands.elements({0, 1}, {1, 2, 2})[1].value, 4);
  EXPECT_EQ(operands.bytes({1, 0})->size(), 16u);
  EXPECT_EQ(operands.bytes({0, 0})->size(), 16u);
}

TEST_F(OperandsTest, ThatAreTooLargeToKeepAreSaidToBeMissing) {
  Operands operands(rig.backend());
  operands.keep(rig.plan, op(), 16);
  rig.run();
  EXPECT_TRUE(operands.elements({1, 0}, {0, 1, 1}).empty());
  EXPECT_FALSE(operands.bytes({1, 0}).has_value());
  EXPECT_EQ(operands.elements({0, 0}, {0, 1, 1})[0].value, 1);
}

TEST_F(OperandsTest, OfACopyAreNotOverwritten) {
  rig.op(Copy{}).on(addend).on(sum);
  EXPECT_FALSE(Operands::is_overwritten(rig.plan, rig.plan.ops[1]));
  rig.op(Copy{}).on(addend).on({addend.buffer, 0, 4});
  EXPECT_TRUE(Operands::is_overwritten(rig.plan, rig.plan.ops[2]));
}

}  // namespace
}  // namespace shardcheck::shadowing
