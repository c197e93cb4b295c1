// Golden tables of shard-layouts 3.11 (a) to (d).
#include "core/layout/zero12_flat.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

Buffer only(const std::vector<std::vector<std::int64_t>>& shapes, const Zero12Options& options) {
  return zero12_flat(of_shapes(shapes), options).buffers.at(0);
}

TEST(Zero12Flat, A_GivenOrder) {
  const Buffer buffer = only({{3, 3}, {5}, {2, 4}}, {.world = 4});
  EXPECT_EQ(buffer.total, 22);
  EXPECT_EQ(buffer.size, 24);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:6]@0", "P0[6:9]@0 P1[0:3]@3", "P1[3:5]@0 P2[0:4]@2", "P2[4:8]@0"}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 0, 2}));
}

TEST(Zero12Flat, B_RoundRobin) {
  const Buffer buffer = only({{7}, {5}, {3}, {2}}, {.world = 2, .order = ZeroOrder::round_robin});
  EXPECT_EQ(buffer.size, 20);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:7]@0 P2[0:3]@7", "P1[0:5]@0 P3[0:2]@5"}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 3}));
}

TEST(Zero12Flat, C_TwoElementsARank) {
  const Buffer buffer = only({{57}}, {.world = 2});
  EXPECT_EQ(buffer.size, 60);
  EXPECT_EQ(pads(buffer), (Numbers{0, 3}));
}

TEST(Zero12Flat, D_SeveralTrailingRanksCarryPadding) {  // B1
  const Buffer buffer = only({{266240}}, {.world = 768});
  EXPECT_EQ(buffer.size, 267264);
  EXPECT_EQ(buffer.rank_layout(Rank{764}, 0).pad_numel, 0);
  EXPECT_EQ(buffer.rank_layout(Rank{765}, 0).pad_numel, 328);
  EXPECT_EQ(buffer.rank_layout(Rank{766}, 0).pad_numel, 348);
  EXPECT_EQ(buffer.rank_layout(Rank{767}, 0).pad_numel, 348);
}

TEST(Zero12Flat, GroupsByNumberWithoutFrozenParameters) {
  auto parameters = of_shapes({{4}, {5}, {6}});
  parameters[0].group = 1;
  parameters[2].requires_grad = false;
  const Layout layout = zero12_flat(parameters, {.world = 2});
  ASSERT_EQ(layout.buffers.size(), 2u);
  EXPECT_EQ(layout.buffers[0].key.group, 0);
  EXPECT_EQ(spelled(layout.buffers[1], 0), "P0[0:2]@0");
}

}  // namespace
}  // namespace shardcheck::layout
