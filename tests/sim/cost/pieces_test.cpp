// Pieces of a layout: they add up to its buffers, and what a rank owns of them to its shard.
#include "sim/cost/pieces.h"

#include <gtest/gtest.h>

#include "core/layout/registry.h"

namespace shardcheck::cost {
namespace {

std::vector<layout::Parameter> model() {
  std::vector<layout::Parameter> parameters;
  for (std::int32_t i = 0; i < 6; ++i) {
    parameters.push_back({.name = "w" + std::to_string(i), .shape = {10 + i, 7}});
    parameters.back().unit = i / 2;
  }
  return parameters;
}

struct Sum {
  std::int64_t whole = 0, own = 0, held = 0, tensors = 0;
};

Sum sum_of(std::string_view layout_name, Rank rank, const PieceOptions& options) {
  const auto parameters = model();
  const auto layout = layout::layout_named(layout_name, parameters, layout::mesh_of(4), {});
  Sum sum;
  for (const Piece& piece :
       pieces_of(layout, parameters, std::vector<Rank>(layout.buffers.size(), rank), options)) {
    sum.whole += piece.whole;
    sum.own += piece.own;
    sum.held += piece.held;
    sum.tensors += std::ssize(piece.tensors);
  }
  return sum;
}

TEST(Pieces, OfARankAddUpToItsShardWhateverTheGrain) {
  const std::int64_t payload = 7 * (10 + 11 + 12 + 13 + 14 + 15);
  std::int64_t held = 0;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    const PieceOptions runs{.sharded = Sharded::gradients, .grain = Grain::run, .run = 150};
    const Sum sum = sum_of("zero12-flat", Rank{rank}, runs);
    EXPECT_EQ(sum.whole, 528);  // 525 rounded up to 2 * 4
    EXPECT_EQ(sum.own, 132);
    EXPECT_EQ(sum.tensors, 6);
    held += sum.held;
  }
  EXPECT_EQ(held, payload);
  const Sum units = sum_of("zero3-flat", Rank{3}, {.sharded = Sharded::weights, .grain = Grain::unit});
  EXPECT_EQ(units.whole, 4 * (18 + 20 + 21 + 23 + 25 + 27));
  EXPECT_EQ(units.own, 18 + 20 + 21 + 23 + 25 + 27);
  const Sum all = sum_of("megatron-ddp-nopad", Rank{2}, {});
  EXPECT_EQ(all.own, payload);
  EXPECT_EQ(all.held, payload);
}

TEST(Pieces, RunsCloseBeforeTheyOverflowAndUnitsAreApart) {
  const auto parameters = model();
  const auto flat = layout::layout_named("zero12-flat", parameters, layout::mesh_of(4), {});
  const std::vector<Rank> first{Rank{0}};
  const auto runs = pieces_of(flat, parameters, first, {Sharded::gradients, Grain::run, 200});
  ASSERT_EQ(runs.size(), 4u);  // from the end: 108, then 98 + 91, then 84 + 77, then 70
  EXPECT_EQ(runs[0].whole, 108);
  EXPECT_EQ(runs[1].whole, 98 + 91);
  EXPECT_EQ(runs[2].tensors, (std::vector{ParamId{1}, ParamId{2}}));
  EXPECT_EQ(runs[3].whole, 70);
  const auto parts = layout::layout_named("zero3-flat", parameters, layout::mesh_of(4), {});
  EXPECT_EQ(pieces_of(parts, parameters, first, {Sharded::weights, Grain::unit, 1}).size(), 3u);
  EXPECT_EQ(pieces_of(flat, parameters, first, {Sharded::gradients, Grain::bucket, 1}).size(), 1u);
}

}  // namespace
}  // namespace shardcheck::cost
