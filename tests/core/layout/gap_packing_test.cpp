// Gap packing on its own: conjugates and fragments (shard-layouts 2.5 step 4, 2.6).
#include "core/layout/gap_packing.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(GapPacking, AFragmentInAGap) {  // table 3.4(a)
  const PackedTensor tensors[] = {{20}, {12}, {3}};
  const GapPacking packing = pack_into_gaps(tensors, 12, FragmentOrder::as_given);
  EXPECT_EQ(packing.offsets, (Numbers{0, 24, 20}));
  EXPECT_EQ(packing.end, 36);
}

TEST(GapPacking, AConjugateTakesTheEndOfTheChunk) {
  const PackedTensor tensors[] = {{12}, {16}, {16}, {2}, {6}};
  const GapPacking packing = pack_into_gaps(tensors, 12, FragmentOrder::as_given);
  EXPECT_EQ(packing.offsets, (Numbers{0, 12, 32, 28, 48}));
  EXPECT_EQ(packing.end, 54);
}

TEST(GapPacking, FragmentsByDescendingSizeKeepTheirRows) {
  const PackedTensor tensors[] = {{.numel = 16, .start_unit = 4}, {.numel = 6, .start_unit = 6}};
  EXPECT_EQ(pack_into_gaps(tensors, 12, FragmentOrder::numel_descending).offsets, (Numbers{0, 18}));
}

TEST(GapPacking, NothingToPlace) {
  EXPECT_EQ(pack_into_gaps({}, 1, FragmentOrder::as_given).end, 0);
}

}  // namespace
}  // namespace shardcheck::layout
