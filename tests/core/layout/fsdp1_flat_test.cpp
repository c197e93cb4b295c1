// Golden tables of shard-layouts 3.8.
#include "core/layout/fsdp1_flat.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(Fsdp1Flat, A_AlignedStarts) {
  const Buffer buffer = fsdp1_flat(of_shapes({{3, 3}, {5}, {2, 4}}), {.world = 4}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 16, 24}));
  EXPECT_EQ(buffer.total, 32);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:8]@0", "P0[8:9]@0", "P1[0:5]@0", "P2[0:8]@0"}));
}

TEST(Fsdp1Flat, B_Plain) {
  const Buffer buffer =
      fsdp1_flat(of_shapes({{3, 3}, {5}, {2, 4}}), {.world = 4, .mode = Fsdp1Mode::plain}).buffers.at(0);
  EXPECT_EQ(buffer.total, 22);
  EXPECT_EQ(buffer.size, 24);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:6]@0", "P0[6:9]@0 P1[0:3]@3", "P1[3:5]@0 P2[0:4]@2", "P2[4:8]@0"}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 0, 2}));
}

TEST(Fsdp1Flat, C_ATrailingRankIsAllPadding) {
  const Buffer buffer = fsdp1_flat(of_shapes({{5}}), {.world = 4, .mode = Fsdp1Mode::plain}).buffers.at(0);
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 1, 2}));
}

TEST(Fsdp1Flat, D_FewerElementsThanRanks) {
  const Buffer buffer = fsdp1_flat(of_shapes({{3}}), {.world = 8, .mode = Fsdp1Mode::plain}).buffers.at(0);
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(Fsdp1Flat, E_AlignedTail) {
  auto parameters = of_shapes({{2}});
  parameters[0].dtype = DType::f32;
  const Buffer buffer = fsdp1_flat(parameters, {.world = 4}).buffers.at(0);
  EXPECT_EQ(buffer.total, 4);
  EXPECT_EQ(pads(buffer), (Numbers{0, 0, 1, 1}));
}

TEST(Fsdp1Flat, TheComputeDtypeDecidesTheAlignment) {
  auto parameters = of_shapes({{1}, {1}});
  for (Parameter& parameter : parameters) parameter.dtype = DType::f32;
  EXPECT_EQ(offsets(fsdp1_flat(parameters, {}).buffers.at(0), 2), (Numbers{0, 4}));
  EXPECT_EQ(offsets(fsdp1_flat(parameters, {.compute_dtype = DType::bf16}).buffers.at(0), 2),
            (Numbers{0, 8}));
}

TEST(Fsdp1Flat, AnAliasOccupiesNoSpace) {
  auto parameters = of_shapes({{5}, {5}});
  parameters[1].tied_to = ParamId{0};
  EXPECT_EQ(offsets(fsdp1_flat(parameters, {}).buffers.at(0), 2), (Numbers{0, -1}));
}

Reason reason_of(const std::vector<Parameter>& parameters, Fsdp1Mode mode) {
  try {
    fsdp1_flat(parameters, {.world = 2, .mode = mode});
  } catch (const Rejected& rejected) {
    return rejected.reason();
  }
  return Reason::zero_row_size;
}

TEST(Fsdp1Flat, Rejections) {
  EXPECT_EQ(reason_of(of_shapes({{0}}), Fsdp1Mode::aligned), Reason::empty_flat_parameter);
  auto parameters = of_shapes({{4}, {4}});
  parameters[1].requires_grad = false;
  EXPECT_EQ(reason_of(parameters, Fsdp1Mode::plain), Reason::mixed_requires_grad);
  EXPECT_NO_THROW(fsdp1_flat(parameters, {.world = 2}));
  parameters[1].dtype = DType::f32;
  EXPECT_EQ(reason_of(parameters, Fsdp1Mode::aligned), Reason::mixed_dtype);
}

}  // namespace
}  // namespace shardcheck::layout
