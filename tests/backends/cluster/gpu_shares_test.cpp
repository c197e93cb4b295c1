#include "backends/cluster/gpu_shares.h"

#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using cluster::are_apart;
using cluster::Seen;
using cluster::shares_of;
using Shares = std::vector<std::vector<int>>;

/// Processes of one host that see the same GPUs.
std::vector<Seen> on_one_host(int processes, const std::vector<std::string>& gpus) {
  std::vector<Seen> all;
  for (int process = 0; process < processes; ++process) all.push_back({process, gpus});
  return all;
}

TEST(GpuShares, GpusOfAHostAreSharedOutInBlocks) {
  const std::vector<std::string> eight{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_EQ(shares_of(on_one_host(2, {"a", "b"})), (Shares{{0}, {1}}));
  EXPECT_EQ(shares_of(on_one_host(2, eight)), (Shares{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(shares_of(on_one_host(3, eight)), (Shares{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  for (int processes = 1; processes <= 8; ++processes) {
    const auto seen = on_one_host(processes, eight);
    EXPECT_TRUE(are_apart(seen, shares_of(seen))) << processes;
  }
}

TEST(GpuShares, MoreProcessesThanGpusHaveOneTogether) {
  const auto seen = on_one_host(4, {"a", "b"});
  EXPECT_EQ(shares_of(seen), (Shares{{0}, {0}, {1}, {1}}));
  EXPECT_FALSE(are_apart(seen, shares_of(seen)));
}

TEST(GpuShares, LocalRanksDecideNotTheOrderOfTheProcesses) {
  const std::vector<Seen> seen{{1, {"a", "b"}}, {0, {"a", "b"}}};
  EXPECT_EQ(shares_of(seen), (Shares{{1}, {0}}));
}

TEST(GpuShares, AProcessThatWasShownItsOwnGpuHasIt) {
  const std::vector<Seen> seen{{0, {"a"}}, {1, {"b"}}};
  EXPECT_EQ(shares_of(seen), (Shares{{0}, {0}}));
  EXPECT_TRUE(are_apart(seen, shares_of(seen)));
}

TEST(GpuShares, TwoHostsShareOutTheirOwn) {
  const std::vector<Seen> seen{{0, {"a", "b"}}, {1, {"a", "b"}}, {0, {"c", "d"}}, {1, {"c", "d"}}};
  EXPECT_EQ(shares_of(seen), (Shares{{0}, {1}, {0}, {1}}));
  EXPECT_TRUE(are_apart(seen, shares_of(seen)));
}

TEST(GpuShares, OverlappingViewsAreNotApart) {
  const std::vector<Seen> seen{{0, {"a", "b"}}, {1, {"b"}}};
  EXPECT_FALSE(are_apart(seen, shares_of(seen)));
}

TEST(GpuShares, WithoutAGpuAllProcessesSaySo) {
  if (cuda_missing().empty()) GTEST_SKIP() << "there is a GPU here";
  test::Children children;
  test::start_conversation(children, 2, {.comm_timeout = std::chrono::seconds(20)},
                           [](Transport& transport) { make_cuda_part({.profile = "ideal"}, transport); });
  for (const auto& ended : children.wait_for_all()) {
    EXPECT_EQ(ended.status, 3);
    EXPECT_NE(ended.output.find("cuda: process 0 has no GPU"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace shardcheck
