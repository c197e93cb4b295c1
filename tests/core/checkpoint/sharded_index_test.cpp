// Indexes of known layouts, and every way in which an index from outside can be wrong.
#include "core/checkpoint/sharded_index.h"

#include <gtest/gtest.h>

#include "core/layout/registry.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

using Pieces = std::vector<SavedPiece>;

ShardedIndex indexed(std::string_view layout, std::vector<layout::Parameter> parameters, std::int32_t world) {
  const layout::Ownership ownership(layout::layout_named(layout, parameters, layout::mesh_of(world), {}),
                                    parameters);
  return index_of(ownership, parameters, layout);
}

TEST(ShardedIndex, PaddingIsNotSavedAndEmptyRanksHaveFiles) {
  const ShardedIndex index = indexed("zero12-flat", {{.name = "t", .shape = {57}}}, 2);
  EXPECT_EQ(index.tensors[0].pieces, (Pieces{{0, 0, 30, 0}, {1, 30, 57, 0}}));  // shard-layouts 3.11 (c)
  EXPECT_EQ(indexed("fsdp2-per-param", {{.name = "t", .shape = {5}}}, 4).files.size(), 4u);  // K20
}

TEST(ShardedIndex, PiecesOfOneFileLieEndToEnd) {
  const ShardedIndex index = indexed("fsdp2-per-param", {{.name = "t", .shape = {2, 4}, .shard_dim = 1}}, 2);
  EXPECT_EQ(index.tensors[0].pieces, (Pieces{{0, 0, 2, 0}, {1, 2, 4, 0}, {0, 4, 6, 2}, {1, 6, 8, 2}}));
}

TEST(ShardedIndex, FrozenTiedAndReplicatedAreSavedOnce) {
  std::vector<layout::Parameter> parameters{
      {.name = "a", .shape = {4}}, {.name = "f", .shape = {3}}, {.name = "t", .shape = {4}}};
  parameters[1].requires_grad = false;
  parameters[2].tied_to = ParamId{0};
  const ShardedIndex index = indexed("megatron-ddp-nopad", parameters, 3);
  ASSERT_EQ(index.tensors.size(), 2u);
  EXPECT_EQ(index.tensors[0].pieces, (Pieces{{0, 0, 4, 0}}));
  EXPECT_EQ(index.tensors[1].pieces, (Pieces{{0, 0, 3, 0}}));
}

TEST(ShardedIndex, JsonAndBack) {
  const ShardedIndex index =
      indexed("zero3-flat", {{.name = "x\"y", .shape = {3, 3}}, {.name = "z", .shape = {0}}}, 4);
  EXPECT_EQ(parse_index(to_json(index), "f"), index);
}

std::string refusal(std::string pieces, const char* shape = "[4]") {
  const std::string text = R"({"format": "shardcheck-sharded-checkpoint-1", "layout": "l", "files":
      ["a.safetensors", "b.safetensors"], "tensors": {"t": {"dtype": "F32", "shape": )" +
                           std::string(shape) + R"(, "pieces": )" + pieces + "}}}";
  return sentence_of([&] { parse_index(text, "f"); });
}

TEST(ShardedIndex, WhatCannotBe) {
  EXPECT_EQ(refusal("[[0, 0, 2, 0], [1, 2, 4, 0]]"), "");
  EXPECT_EQ(refusal("[[0, 0, 2, 0]]"), "f: tensor \"t\": pieces: nobody saved elements 2 to 4");
  EXPECT_EQ(refusal("[[0, 0, 3, 0], [1, 2, 4, 0]]"), "f: tensor \"t\": pieces: element 2 is saved twice");
  EXPECT_EQ(refusal("[[0, 0, 1, 0], [1, 2, 4, 0]]"), "f: tensor \"t\": pieces: nobody saved elements 1 to 2");
  EXPECT_NE(refusal("[[0, 0, 6, 0]]").find("the tensor has 4 elements"), std::string::npos);
  EXPECT_NE(refusal("[[2, 0, 4, 0]]").find("file 2 of 2"), std::string::npos);
  EXPECT_NE(refusal("[[0, 0, 4, 1]]").find("are at 1 of file 0"), std::string::npos);
  EXPECT_NE(refusal("[[0, 0, 4]]").find("[file, lo, hi, at]"), std::string::npos);
  EXPECT_NE(refusal("[[0, 0, 0, 0], [0, 0, 4, 0]]").find("are none"), std::string::npos);
  EXPECT_NE(refusal("[[9999999999, 0, 4, 0]]").find("9999999999"), std::string::npos);
  EXPECT_NE(refusal("[]", "[-4]").find("shape"), std::string::npos);
  EXPECT_NE(sentence_of([] { parse_index(R"({"format": "other"})", "f"); }).find("format"),
            std::string::npos);
}

}  // namespace
}  // namespace shardcheck::checkpoint
