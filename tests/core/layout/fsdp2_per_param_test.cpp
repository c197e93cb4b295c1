// Golden tables of shard-layouts 3.9.
#include "core/layout/fsdp2_per_param.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

Buffer only(const std::vector<Parameter>& parameters, std::int32_t world) {
  return fsdp2_per_param(parameters, {.world = world}).buffers.at(0);
}

TEST(Fsdp2PerParam, A_TwoMatrices) {
  const Buffer buffer = only(of_shapes({{4, 2}, {6, 3}}), 2);
  EXPECT_EQ(buffer.size, 2 * 13);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:4]@0 P1[0:9]@4", "P0[4:8]@0 P1[9:18]@4"}));
}

TEST(Fsdp2PerParam, B_AwkwardExtents) {
  const Buffer buffer = only(of_shapes({{5, 3}, {2, 4}, {1}, {0, 2}}), 4);
  EXPECT_EQ(buffer.size, 44);
  EXPECT_EQ(offsets(buffer, 4), (Numbers{0, 6, 10, 11}));
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:6]@0 P1[0:4]@6 P2[0:1]@10", "P0[6:12]@0 P1[4:8]@6", "P0[12:15]@0", ""}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 1, 8, 11}));
}

TEST(Fsdp2PerParam, C_NineRowsOverFourRanks) {
  const Buffer buffer = only(of_shapes({{9, 2}, {3}}), 4);
  EXPECT_EQ(buffer.size, 4 * 7);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:6]@0 P1[0:1]@6", "P0[6:12]@0 P1[1:2]@6", "P0[12:18]@0 P1[2:3]@6", ""}));
}

TEST(Fsdp2PerParam, AnotherDimensionIsCutInPieces) {
  auto parameters = of_shapes({{3, 4}});
  parameters[0].shard_dim = 1;
  EXPECT_EQ(spelled(only(parameters, 2), 1), "P0[2:4]@0 P0[6:8]@2 P0[10:12]@4");
  EXPECT_EQ(fsdp2_local_shape(parameters[0], Rank{1}, {.world = 2}), (Numbers{3, 2}));
}

TEST(Fsdp2PerParam, ByteSlotsOfMixedTypes) {
  auto parameters = of_shapes({{2}, {3}});
  parameters[0].dtype = DType::f32;
  EXPECT_EQ(fsdp2_byte_slots(only(parameters, 1), parameters), (std::vector<Range>{{0, 8}, {8, 14}}));
}

TEST(Fsdp2PerParam, UnitsAreSeparateGroups) {
  auto parameters = of_shapes({{4}, {4}, {4}});
  parameters[1].unit = 0;
  const Layout layout = fsdp2_per_param(parameters, {.world = 2});
  ASSERT_EQ(layout.buffers.size(), 2u);
  EXPECT_EQ(layout.buffers[1].key.unit, 0);
}

Reason reason_of(const Parameter& parameter) {
  try {
    only({parameter}, 4);
  } catch (const Rejected& rejected) {
    return rejected.reason();
  }
  return Reason::mixed_dtype;
}

TEST(Fsdp2PerParam, Rejections) {
  EXPECT_EQ(reason_of({.name = "scalar"}), Reason::zero_dim_tensor);
  EXPECT_EQ(reason_of({.name = "uneven", .shape = {4, 6}, .shard_dim = 1}), Reason::uneven_nonzero_dim);
  EXPECT_EQ(reason_of({.name = "vector", .shape = {4}, .shard_dim = 1}), Reason::shard_dim_out_of_range);
}

}  // namespace
}  // namespace shardcheck::layout
