// Golden tables of shard-layouts 3.11 (e) and (f), sub-groups and hpZ of 2.13.
#include "core/layout/zero3_flat.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(Zero3Flat, E_PartsAndTheirPadding) {
  const auto parameters = of_shapes({{3, 3}, {5}, {1}});
  const Buffer buffer = zero3_flat(parameters, {.world = 4}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 3, 5}));
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:3]@0 P1[0:2]@3 P2[0:1]@5", "P0[3:6]@0 P1[2:4]@3", "P0[6:9]@0 P1[4:5]@3", ""}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 1, 2, 6}));
  EXPECT_EQ(zero3_last_rank(parameters[0], 4).recorded_padding, 3);
  EXPECT_EQ(zero3_last_rank(parameters[1], 4).recorded_padding, 3);
  EXPECT_EQ(zero3_last_rank(parameters[1], 4).lean_length, -1);  // B5
  EXPECT_EQ(zero3_last_rank(parameters[2], 4).recorded_padding, 3);
}

TEST(Zero3Flat, F_NoPadding) {
  const Buffer buffer = zero3_flat(of_shapes({{4, 4}, {8}}), {.world = 4}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{0, 4}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 0, 0}));
}

TEST(Zero3Flat, SubGroupsCloseAtTheLimit) {
  const auto parameters = of_shapes({{132}, {129}, {11}, {0}});
  const Layout layout = zero3_flat(parameters, {.world = 1, .sub_group_size = 140});
  ASSERT_EQ(layout.buffers.size(), 2u);
  EXPECT_EQ(spelled(layout.buffers[0], 0), "P0[0:132]@0 P1[0:129]@132");
  EXPECT_EQ(spelled(layout.buffers[1], 0), "P2[0:11]@0");
}

TEST(Zero3Flat, SecondaryPartition) {
  const auto parameters = of_shapes({{33}});
  const Zero3Secondary held = zero3_secondary(parameters[0], 4, {.rank = 1, .group_size = 2});
  EXPECT_EQ(held.part, 18);
  EXPECT_EQ(held.real, (Range{18, 33}));
  EXPECT_THROW(zero3_secondary(parameters[0], 4, {.rank = 0, .group_size = 5}), Error);
}

}  // namespace
}  // namespace shardcheck::layout
