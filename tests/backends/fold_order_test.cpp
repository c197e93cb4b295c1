#include "backends/fold_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace shardcheck {
namespace {

std::vector<Rank> ranks_up_to(int count) {
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(Rank{i});
  return ranks;
}

/// The sum as its own text: "((r0+r1)+(r2+r3))".
std::string folded_text(const Fold& fold, const std::vector<Rank>& ranks) {
  std::vector<std::string> names;
  for (Rank rank : ranks) names.push_back("r" + std::to_string(rank.value));
  return folded_sum<std::string>(fold, ranks, names, [](const std::string& sum, const std::string& addend) {
    return "(" + sum + "+" + addend + ")";
  });
}

TEST(FoldOrder, BlocksAreContiguousAndCoverAllRanks) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int gpus = 1; gpus <= 10; ++gpus) {
      const Fold fold{ranks, gpus};
      int covered = 0;
      for (int gpu = 0; gpu < gpus; ++gpu) {
        ASSERT_EQ(fold.first_rank_of(gpu), covered);
        for (int i = 0; i < fold.ranks_on(gpu); ++i) ASSERT_EQ(fold.gpu_of(Rank{covered + i}), gpu);
        covered += fold.ranks_on(gpu);
      }
      ASSERT_EQ(covered, ranks) << ranks << " ranks on " << gpus << " GPUs";
    }
  }
}

TEST(FoldOrder, OneGpuAddsInAscendingOrder) {
  const Fold fold{4, 1};
  EXPECT_EQ(folded_text(fold, ranks_up_to(4)), "(((r0+r1)+r2)+r3)");
  EXPECT_EQ(folded_text(fold, {Rank{2}, Rank{0}, Rank{3}}), "((r0+r2)+r3)");
  EXPECT_EQ(reduction_order(fold, ranks_up_to(4)), ReductionOrder::flat);
}

TEST(FoldOrder, TwoGpusAddTheirOwnRanksFirst) {
  const Fold fold{4, 2};
  EXPECT_EQ(folded_text(fold, ranks_up_to(4)), "((r0+r1)+(r2+r3))");
  EXPECT_EQ(reduction_order(fold, ranks_up_to(4)), ReductionOrder::two_gpus);
  EXPECT_EQ(folded_text({3, 2}, ranks_up_to(3)), "((r0+r1)+r2)");
}

TEST(FoldOrder, OneRankOnEachOfTwoGpusIsFlat) {
  EXPECT_EQ(reduction_order({2, 2}, ranks_up_to(2)), ReductionOrder::flat);
  EXPECT_EQ(reduction_order({8, 2}, std::vector<Rank>{Rank{1}, Rank{6}}), ReductionOrder::flat);
}

TEST(FoldOrder, ThreeGpusPromiseNothing) {
  EXPECT_EQ(reduction_order({3, 3}, ranks_up_to(3)), ReductionOrder::unknown);
}

TEST(FoldOrder, EveryPositionIsAddedOnce) {
  const std::vector<Rank> ranks = {Rank{5}, Rank{1}, Rank{7}, Rank{0}, Rank{2}};
  std::vector<int> seen(ranks.size(), 0);
  for (const PartialSum& sum : partial_sums({8, 4}, ranks)) {
    for (std::size_t position : sum.positions) ++seen[position];
  }
  EXPECT_EQ(seen, std::vector<int>(ranks.size(), 1));
}

/// The order matters: two folds of one sum differ in fp32.
TEST(FoldOrder, FoldedAndFlatSumsDiffer) {
  const std::vector<float> addends = {0x1p24f, 1.0f, 1.0f, 1.0f};
  const auto add = [](float a, float b) { return a + b; };
  EXPECT_EQ(folded_sum<float>({4, 1}, ranks_up_to(4), addends, add), 0x1p24f);
  EXPECT_EQ(folded_sum<float>({4, 2}, ranks_up_to(4), addends, add), 0x1p24f + 2.0f);
}

}  // namespace
}  // namespace shardcheck
