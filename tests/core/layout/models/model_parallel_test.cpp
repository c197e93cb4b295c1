// Tensor and expert parallelism: nothing is lost between the ranks, and what does not divide is refused.
#include "core/layout/models/model_parallel.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/layout/models/named_models.h"

namespace shardcheck::layout {
namespace {

std::int64_t elements_of(std::span<const Parameter> parameters) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters) sum += parameter.numel();
  return sum;
}

TEST(ModelParallel, CutsColumnsAndRowsAndKeepsNormsWhole) {
  const auto whole = find_model("llama3-70b")->make();
  const auto local = local_model(whole, {.tensor = 8});
  ASSERT_EQ(local.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_norm = whole[i].shape.size() == 1;
    EXPECT_EQ(local[i].numel() * (is_norm ? 1 : 8), whole[i].numel()) << whole[i].name;
  }
  EXPECT_EQ(local[1].shape, (std::vector<std::int64_t>{1024, 8192}));  // q: rows
  EXPECT_EQ(local[4].shape, (std::vector<std::int64_t>{8192, 1024}));  // o: columns
}

TEST(ModelParallel, ExpertsAreSharedOut) {
  const auto whole = find_model("mixtral-8x7b")->make();
  std::int64_t experts = 0, shared = 0;
  for (const Parameter& parameter : whole) (parameter.expert ? experts : shared) += parameter.numel();
  std::int64_t sum = 0;
  for (std::int32_t position = 0; position < 4; ++position) {
    const auto local = local_model(whole, {.expert = 4, .expert_position = position});
    EXPECT_EQ(elements_of(local), shared + experts / 4);
    sum += elements_of(local) - shared;
  }
  EXPECT_EQ(sum, experts);
}

TEST(ModelParallel, AnExpertIsReadFromAName) {
  EXPECT_EQ(expert_in("model.layers.7.mlp.experts.31.up_proj.weight"), 31);
  EXPECT_EQ(expert_in("model.layers.7.mlp.experts.up_proj"), std::nullopt);
  EXPECT_EQ(expert_in("model.layers.7.mlp.shared_experts.up_proj.weight"), std::nullopt);
}

TEST(ModelParallel, WhatDoesNotDivideIsRefused) {
  EXPECT_THROW(local_model(find_model("gpt3-175b")->make(), {.tensor = 2}), Error);
  EXPECT_THROW(local_model(find_model("mixtral-8x7b")->make(), {.expert = 3}), Error);
  EXPECT_THROW(local_model(find_model("llama3-8b")->make(), {.expert = 2}), Error);
}

}  // namespace
}  // namespace shardcheck::layout
