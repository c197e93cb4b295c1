// Prices over a layout are the formulas over its padded elements, experts in their own groups.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "sim/cost/strategy.h"
#include "tools/shardcheck/layout/sections.h"

namespace shardcheck {
namespace {

const Price& price_of(const std::vector<Price>& prices, const std::string& strategy) {
  const auto found = std::ranges::find(prices, strategy, &Price::strategy);
  EXPECT_NE(found, prices.end());
  return *found;
}

LayoutFlags flags_of(const std::string& model, const std::string& mesh) {
  LayoutFlags flags;
  flags.model = model;
  flags.layout = "zero3-flat";
  flags.mesh = mesh;
  return flags;
}

TEST(Price, OfAnUnpaddedModelIsTheTableOfTheSpecification) {
  const Answered answer = answered(ask(flags_of("llama3-8b", "dp=64")));
  ASSERT_EQ(sizes_of(answer).padding, 0);
  const auto prices = prices_of(answer, {.storages = {"bf16"}});
  ASSERT_EQ(prices.size(), 6u);
  const double n = 8'030'261'248;
  EXPECT_EQ(price_of(prices, "DDP").kept, 18 * n);
  EXPECT_EQ(price_of(prices, "ZeRO-3").kept, 18 * n / 64);
  EXPECT_EQ(price_of(prices, "ZeRO-3").sent, 63.0 / 64 * n * (2 + 2 * 2));
  EXPECT_EQ(price_of(prices, "HSDP").kept, 18 * n / 8);  // a node of 8 inside
  EXPECT_GT(price_of(prices, "HSDP").seconds, 0);
}

TEST(Price, ExpertsAreReducedInTheirOwnGroup) {
  const Answered answer = answered(ask(flags_of("mixtral-8x7b", "dp=16,ep=8")));
  double dense = 0, expert = 0;
  for (const auto& parameter : answer.question.parameters)
    (parameter.expert ? expert : dense) += static_cast<double>(parameter.numel());
  const auto prices = prices_of(answer, {.storages = {"bf16"}});
  EXPECT_EQ(price_of(prices, "ZeRO-1").sent, 15.0 / 16 * dense * 4 + 1.0 / 2 * expert * 4);
}

TEST(Price, AnUnknownStorageIsNamed) {
  const Answered answer = answered(ask(flags_of("llama3-8b", "dp=8")));
  EXPECT_THROW(prices_of(answer, {.storages = {"fp3"}}), Error);
}

}  // namespace
}  // namespace shardcheck
