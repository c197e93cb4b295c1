// Sets of measured pieces: the union of two, each stored once, pieces that touch are one.
#include "core/contract/measured.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

Measured piece(std::int64_t lo, std::int64_t hi, std::int32_t version = 0) {
  return {.parameter = 0, .version = version, .lo = lo, .hi = hi};
}

TEST(MeasuredSets, PiecesThatTouchAreOne) {
  MeasuredSets sets;
  const auto a = sets.with(MeasuredSets::kNone, piece(0, 4));
  const auto b = sets.with(MeasuredSets::kNone, piece(4, 9));
  const auto both = sets.joined(a, b);
  ASSERT_EQ(sets[both].size(), 1u);
  EXPECT_EQ(sets[both][0], piece(0, 9));
  EXPECT_EQ(sets.joined(b, a), both);
  EXPECT_EQ(sets.joined(both, MeasuredSets::kNone), both);
  EXPECT_EQ(sets.with(both, piece(2, 5)), both) << "measured twice is measured";
}

TEST(MeasuredSets, HolesVersionsAndPushesStayApart) {
  MeasuredSets sets;
  const auto a = sets.with(MeasuredSets::kNone, piece(0, 4));
  EXPECT_EQ(sets[sets.with(a, piece(5, 9))].size(), 2u) << "a hole";
  EXPECT_EQ(sets[sets.with(a, piece(4, 9, 1))].size(), 2u) << "another version";
  const Measured push{.parameter = 0, .rank = 0, .step = 1, .microbatch = 0};
  Measured other = push;
  other.microbatch = 1;
  const auto pushes = sets.with(sets.with(MeasuredSets::kNone, push), other);
  EXPECT_EQ(sets[pushes].size(), 2u);
  EXPECT_EQ(sets.with(pushes, push), pushes);
}

TEST(Scalings, EqualOnesHaveOneNumber) {
  Scalings scalings;
  const Scaling first{.parameter = 1, .version = 2};
  const auto number = scalings.number_of(first);
  EXPECT_EQ(scalings.number_of(first), number);
  Scaling next = first;
  next.closings = 1;
  EXPECT_NE(scalings.number_of(next), number);
  EXPECT_EQ(scalings[number], first);
}

}  // namespace
}  // namespace shardcheck
