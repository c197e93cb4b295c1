#include "core/types.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace shardcheck {
namespace {

static_assert(!std::is_convertible_v<int, Rank> && !std::is_convertible_v<Rank, int>);
static_assert(!std::is_convertible_v<Rank, ParamId> && !std::is_assignable_v<Rank&, BufferId>);
static_assert(sizeof(OpIndex) == sizeof(std::int32_t));

TEST(Types, CompareWithTheirOwnKind) {
  EXPECT_LT(Rank{1}, Rank{2});
  EXPECT_EQ(ParamId{3}, ParamId{3});
  EXPECT_EQ(BufferId{}.value, 0);
}

}  // namespace
}  // namespace shardcheck
