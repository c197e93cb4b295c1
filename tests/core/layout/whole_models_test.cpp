// What the uniform entry adds to the layouts of one tensor or one unit.
#include "core/layout/whole_models.h"

#include <gtest/gtest.h>

#include "tests/core/layout/models.h"

namespace shardcheck::layout {
namespace {

TEST(WholeModels, GivenOwnersAreKept) {
  const auto parameters = of_shapes({{4, 4}, {2, 6}, {1, 2}});
  const std::vector<Rank> owners{Rank{0}, Rank{1}, Rank{1}};
  const Layout layout = tensor_atomic_model(parameters, owners, 2);
  EXPECT_EQ(layout.buffers.at(0).bounds, (Numbers{0, 16, 30}));
}

TEST(WholeModels, OwnersAreCandidatesOfTheFlatLayout) {
  const auto parameters = of_shapes({{4, 4}, {4, 4}, {3}});
  const Layout layout = tensor_atomic_model(parameters, {}, 2);
  EXPECT_EQ(spelled_ranks(layout.buffers.at(0)), (Strings{"P0[0:16]@0", "P1[0:16]@0 P2[0:3]@16"}));
}

TEST(WholeModels, RaggedUnitsKeepTheNumbersOfTheModel) {
  auto parameters = of_shapes({{4}, {2}, {4}});
  parameters[1].unit = 7;
  const Layout layout = ragged_model(parameters, {}, {.world = 2, .granularity = 1});
  ASSERT_EQ(layout.buffers.size(), 2u);
  EXPECT_EQ(spelled_ranks(layout.buffers[1]), (Strings{"P1[0:1]@0", "P1[1:2]@0"}));
}

TEST(WholeModels, TensorParallelismCutsFirst) {
  const Mesh mesh{{{"dp", 2, AxisUse::shard}, {"tp", 2, AxisUse::tensor}}};
  const Layout layout = dtensor_model(of_shapes({{8}}), mesh, {}, {});
  EXPECT_EQ(spelled_ranks(layout.buffers.at(0)),
            (Strings{"P0[0:2]@0", "P0[4:6]@0", "P0[2:4]@0", "P0[6:8]@0"}));  // shard-layouts 3.10
}

}  // namespace
}  // namespace shardcheck::layout
