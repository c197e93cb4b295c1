// TypeTrails: ranges are cut where they differ, per rank and buffer.
#include "core/contract/type_trails.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

Plan two_buffers() {
  Plan plan;
  plan.ranks = 2;
  for (const char* name : {"a", "b"})
    plan.buffers.push_back({.name = name, .role = BufferRole::main_grad, .dtype = DType::f32, .numel = 10});
  return plan;
}
constexpr BufferId kA{0}, kB{1};
constexpr Rank kRank{1};

Trail by(std::int32_t op) {
  return {.rounded = OpIndex{op}};
}
/// "0-4:-1 4-6:7": begin, end and the op that rounded.
std::string text(const TypeTrails& trails, View view, Rank rank = kRank) {
  std::string all;
  for (const TrailPiece& p : trails.of(rank, view)) {
    EXPECT_EQ(p.view.buffer, view.buffer);
    all += (all.empty() ? "" : " ") + std::to_string(p.view.offset) + "-" +
           std::to_string(p.view.offset + p.view.numel) + ":" + std::to_string(p.trail.rounded.value);
  }
  return all;
}

TEST(TypeTrails, BeginAtTheBeginOfTheWay) {
  const TypeTrails trails(two_buffers());
  EXPECT_EQ(text(trails, {kA, 2, 5}), "2-7:-1");
  EXPECT_EQ(text(trails, {kA, 2, 0}), "");
  EXPECT_EQ(trails.of(kRank, {kA, 0, 1})[0].trail, Trail{});
}

TEST(TypeTrails, AreCutWhereOneIsSet) {
  TypeTrails trails(two_buffers());
  trails.set(kRank, {kA, 4, 4}, by(7));
  EXPECT_EQ(text(trails, {kA, 0, 10}), "0-4:-1 4-8:7 8-10:-1");
  EXPECT_EQ(text(trails, {kA, 5, 2}), "5-7:7");
  trails.set(kRank, {kA, 5, 1}, by(8));
  EXPECT_EQ(text(trails, {kA, 0, 10}), "0-4:-1 4-5:7 5-6:8 6-8:7 8-10:-1") << "inside of another";
  trails.set(kRank, {kA, 3, 2}, by(9));
  EXPECT_EQ(text(trails, {kA, 0, 8}), "0-3:-1 3-5:9 5-6:8 6-8:7") << "over its begin";
  trails.set(kRank, {kA, 7, 3}, by(10));
  EXPECT_EQ(text(trails, {kA, 5, 5}), "5-6:8 6-7:7 7-10:10") << "over its end";
  trails.set(kRank, {kA, 0, 10}, by(11));
  EXPECT_EQ(text(trails, {kA, 0, 10}), "0-10:11") << "over all";
  trails.set(kRank, {kA, 3, 0}, by(12));
  EXPECT_EQ(text(trails, {kA, 0, 10}), "0-10:11") << "nothing is nowhere";
}

TEST(TypeTrails, KeepRanksAndBuffersApart) {
  TypeTrails trails(two_buffers());
  trails.set(kRank, {kA, 0, 10}, by(3));
  EXPECT_EQ(text(trails, {kA, 0, 10}, Rank{0}), "0-10:-1");
  EXPECT_EQ(text(trails, {kB, 0, 10}), "0-10:-1");
}

}  // namespace
}  // namespace shardcheck
