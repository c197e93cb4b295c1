// Golden tables of shard-layouts 3.12 (a) and (b).
#include "core/layout/vescale_ragged.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(VescaleRagged, A_ProportionalPieces) {
  const Parameter parameter = of_shapes({{4, 6}})[0];
  EXPECT_EQ(vescale_ragged(parameter, {.dims = 2, .units = {1, 2, 1}}).bounds, (Numbers{0, 6, 18, 24}));
  EXPECT_EQ(spelled_ranks(vescale_ragged(parameter, {.dims = 1, .units = {0, 1, 0}})),
            (Strings{"", "P0[0:24]@0", ""}));
  EXPECT_EQ(ragged_local_shape(parameter, {.dims = 1, .units = {1, 2, 1}}, Rank{1}), (Numbers{2, 6}));
}

Reason reason_of(const RaggedOptions& options) {
  try {
    vescale_ragged(of_shapes({{4, 6}})[0], options);
  } catch (const Rejected& rejected) {
    return rejected.reason();
  }
  return Reason::mixed_dtype;
}

TEST(VescaleRagged, Rejections) {
  EXPECT_EQ(reason_of({.dims = 1, .units = {1, 2, 2}}), Reason::units_do_not_divide_numel);
  EXPECT_EQ(reason_of({.dims = 1, .units = {1, 7}}), Reason::local_numel_not_a_multiple_of_granularity);
  EXPECT_THROW(vescale_ragged(of_shapes({{4}})[0], {.units = {0, 0}}), Error);
  EXPECT_THROW(vescale_ragged(of_shapes({{4}})[0], {.units = {2, -1}}), Error);
}

TEST(VescaleRagged, B_Redistribute) {
  const auto matrix = ragged_send_matrix(of_shapes({{4, 6}})[0], {.from = {1, 2, 1}, .to = {2, 1, 1}});
  EXPECT_EQ(matrix, (std::vector<Numbers>{{6, 0, 0}, {6, 6, 0}, {0, 0, 6}}));
}

}  // namespace
}  // namespace shardcheck::layout
