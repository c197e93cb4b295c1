// Golden table of shard-layouts 3.10 and the gather of B24.
#include "core/layout/dtensor_nd.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

using Kind = Placement::Kind;

/// Rows of a tensor of `extent` rows that each rank holds, in local order; ranks are separated by '/'.
std::string rows(std::int64_t extent, const DtensorOptions& options) {
  const std::int64_t shape[] = {extent};
  std::string text;
  std::int32_t world = 1;
  for (const std::int32_t axis : options.mesh) world *= axis;
  for (std::int32_t rank = 0; rank < world; ++rank) {
    if (rank > 0) text += "/";
    const DtensorLocal local = dtensor_local(shape, options, Rank{rank});
    for (const Range& run : local.index[0]) {
      for (std::int64_t row = run.lo; row < run.hi; ++row) text += std::to_string(row);
    }
  }
  return text;
}

DtensorOptions dp_tp(std::int32_t dp, std::vector<std::int32_t> order) {
  return {.mesh = {dp, 2}, .placements = {{Kind::shard, 0}, {Kind::shard, 0}}, .order = std::move(order)};
}

DtensorOptions strided(std::int32_t dp) {
  return {.mesh = {dp}, .placements = {{Kind::strided_shard, 0, 2}}, .order = {0}};
}

TEST(DtensorNd, TensorParallelFirst) {
  EXPECT_EQ(rows(8, dp_tp(2, {1, 0})), "01/45/23/67");
  EXPECT_EQ(rows(6, dp_tp(2, {1, 0})), "01/34/2/5");
  EXPECT_EQ(rows(5, dp_tp(2, {1, 0})), "01/3/2/4");
  EXPECT_EQ(rows(9, dp_tp(4, {1, 0})), "01/5/23/6/4/7//8");
}

TEST(DtensorNd, LeftToRight) {
  EXPECT_EQ(rows(8, dp_tp(2, {0, 1})), "01/23/45/67");
  EXPECT_EQ(rows(6, dp_tp(2, {0, 1})), "01/2/34/5");
  EXPECT_EQ(rows(5, dp_tp(2, {0, 1})), "01/2/3/4");
}

TEST(DtensorNd, StridedOnTheDataParallelAxis) {
  EXPECT_EQ(rows(8, strided(2)), "0145/2367");
  EXPECT_EQ(rows(6, strided(2)), "0134/25");
  EXPECT_EQ(rows(5, strided(2)), "013/24");
  EXPECT_EQ(rows(9, strided(4)), "015/236/47/8");
}

TEST(DtensorNd, UpstreamGatherIsWrongWhereALaterRankIsNotEmpty) {  // B24
  EXPECT_EQ(upstream_strided_unshard({.extent = 9, .split_factor = 2, .world = 4}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7, -1}));
  EXPECT_EQ(upstream_strided_unshard({.extent = 8, .split_factor = 2, .world = 2}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(DtensorNd, AnEmptyShardIsOffsetByTheExtent) {  // B27
  const DtensorOptions options{.mesh = {4}, .placements = {{Kind::shard, 0}}, .order = {0}};
  const std::int64_t shape[] = {5, 3};
  EXPECT_EQ(dtensor_local(shape, options, Rank{3}).global_offset, (Numbers{5, 0}));
  EXPECT_EQ(dtensor_local(shape, options, Rank{3}).local_shape, (Numbers{0, 3}));
}

TEST(DtensorNd, BadOptions) {
  const std::int64_t shape[] = {5};
  const DtensorOptions dim{.mesh = {4}, .placements = {{Kind::shard, 1}}, .order = {0}};
  EXPECT_THROW(dtensor_local(shape, dim, Rank{0}), Rejected);
  const DtensorOptions order{.mesh = {4}, .placements = {{Kind::shard, 0}}, .order = {1}};
  EXPECT_THROW(dtensor_local(shape, order, Rank{0}), Error);
  const DtensorOptions count{.mesh = {4}, .placements = {}, .order = {0}};
  EXPECT_THROW(dtensor_local(shape, count, Rank{0}), Error);
}

}  // namespace
}  // namespace shardcheck::layout
