// Byte ranges split where views cut them and join again; versions are rows, made once.
#include "core/contract/versions.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

const Stamp kCodes{.held = Held::codes, .parameter = 0, .version = 1};

TEST(ByteRanges, SplitWhereAViewCutsAndKeepTheirElements) {
  ByteRanges bytes(16);
  const ByteRange written{.begin = 4, .end = 12, .element = 100, .stamp = kCodes};
  bytes.assign({&written, 1});
  const auto part = bytes.cut(6, 14);
  ASSERT_EQ(part.size(), 2u);
  EXPECT_EQ(part[0].begin, 6);
  EXPECT_EQ(part[0].end, 12);
  EXPECT_EQ(part[0].element, 102);
  EXPECT_EQ(part[0].stamp, kCodes);
  EXPECT_EQ(part[1].stamp, Stamp{});
  EXPECT_EQ(part[1].element, -1);
  EXPECT_TRUE(bytes.cut(3, 3).empty());
}

TEST(ByteRanges, JoinWhatGoesOn) {
  ByteRanges bytes(16);
  const ByteRange halves[] = {{.begin = 0, .end = 8, .element = 0, .stamp = kCodes},
                              {.begin = 8, .end = 16, .element = 8, .stamp = kCodes}};
  bytes.assign(halves);
  EXPECT_EQ(bytes.all().size(), 1u);
  ByteRange other = halves[1];
  other.element = 9;
  bytes.assign({&other, 1});
  EXPECT_EQ(bytes.all().size(), 2u) << "an element is missing between them";
  EXPECT_EQ(bytes.all()[0].end, 8);
}

TEST(VersionState, TracksWhatAWeightPassesThrough) {
  Plan plan;
  plan.ranks = 2;
  plan.buffers = {{"main", BufferRole::main_grad, DType::f32, 4},
                  {"codes", BufferRole::codes, DType::e4m3, 4}};
  VersionState state(plan);
  EXPECT_FALSE(state.is_tracked(BufferId{0}));
  EXPECT_TRUE(state.is_tracked(BufferId{1}));
  const ByteRange whole{.end = 4, .stamp = kCodes};
  state.buffer(Rank{1}, BufferId{1}).assign({&whole, 1});
  EXPECT_EQ(state.at(Rank{1}, {BufferId{1}, 1, 2})[0].stamp, kCodes);
  EXPECT_EQ(state.at(Rank{0}, {BufferId{1}, 1, 2})[0].stamp, Stamp{});
}

TEST(VersionTable, PiecesOfAllRanksBecomeOneVersion) {
  VersionTable table;
  const std::int32_t first = table.first(0, 0);
  EXPECT_EQ(table.first(0, 0), first);
  EXPECT_NE(table.first(0, 1), first);
  const std::int32_t second = table.next(first, 3, OpIndex{7});
  EXPECT_EQ(table.next(first, 3, OpIndex{8}), second) << "another piece in the same step";
  EXPECT_EQ(table[second].steps, 1);
  EXPECT_EQ(table[second].made_by.value, 7);
  const std::int32_t again = table.next(first, 4, OpIndex{9});
  EXPECT_NE(again, second) << "after a load, another history";
  EXPECT_TRUE(table.is_older(first, second));
  EXPECT_FALSE(table.is_older(second, first));
  EXPECT_FALSE(table.is_older(second, again));
  EXPECT_FALSE(table.is_older(first, first));
}

TEST(Held, EveryKindHasAName) {
  for (int i = 0; i <= static_cast<int>(Held::delayed); ++i)
    EXPECT_FALSE(name_of(static_cast<Held>(i)).empty());
}

}  // namespace
}  // namespace shardcheck
