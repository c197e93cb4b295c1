// Golden table of shard-layouts 3.7, and the planned owners of 2.8.
#include "core/layout/mfsdp_v2_tensor_atomic.h"

#include <gtest/gtest.h>

#include "core/layout/mfsdp_v2_flat.h"
#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

struct Golden {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<Rank> owners;
  std::int32_t world;
  Numbers bounds;  ///< base of every rank, then the size
  Numbers offsets;
};

TEST(MfsdpV2TensorAtomic, GoldenTable) {
  const Golden table[] = {
      {{{4, 4}, {2, 6}, {1, 2}}, {Rank{0}, Rank{1}, Rank{1}}, 2, {0, 16, 30}, {0, 16, 28}},
      {{{8, 4}, {8, 4}, {2}}, {Rank{1}, Rank{0}, Rank{1}}, 2, {0, 32, 66}, {32, 0, 64}},
      {{{4, 4}, {2, 6}, {1, 2}, {3}},
       {Rank{2}, Rank{0}, Rank{2}, Rank{0}},
       4,
       {0, 15, 15, 33, 33},
       {15, 0, 31, 12}},
  };
  for (const Golden& golden : table) {
    const Buffer buffer = mfsdp_v2_tensor_atomic(of_shapes(golden.shapes), golden.owners, golden.world);
    EXPECT_EQ(buffer.bounds, golden.bounds);
    EXPECT_EQ(offsets(buffer, golden.shapes.size()), golden.offsets);
    EXPECT_EQ(pads(buffer), Numbers(golden.world, 0));
  }
}

TEST(MfsdpV2TensorAtomic, OwnersMustExist) {
  const auto parameters = of_shapes({{4}});
  EXPECT_THROW(mfsdp_v2_tensor_atomic(parameters, std::vector{Rank{2}}, 2), Error);
  EXPECT_THROW(mfsdp_v2_tensor_atomic(parameters, {}, 2), Error);
}

TEST(MfsdpV2TensorAtomic, PlannedOwnersHoldPartOfTheirTensor) {
  const auto parameters = of_shapes({{8, 4}, {8, 4}, {2}});  // flat: P0 on rank 0, P1 on ranks 0 and 1
  const Buffer flat = mfsdp_v2_flat(parameters, {.world = 2}).buffers.at(0);
  const std::vector<std::pair<ParamId, Rank>> expected{{ParamId{0}, Rank{0}}, {ParamId{1}, Rank{1}}};
  EXPECT_EQ(plan_owners(parameters, flat), expected);
}

TEST(MfsdpV2TensorAtomic, AMatrixWithoutElementsHasNoOwner) {
  const auto parameters = of_shapes({{0, 4}});
  const Buffer flat = mfsdp_v2_flat(parameters, {.world = 2}).buffers.at(0);
  EXPECT_THROW(plan_owners(parameters, flat), Rejected);
}

}  // namespace
}  // namespace shardcheck::layout
