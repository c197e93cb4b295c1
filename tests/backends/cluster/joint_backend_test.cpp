#include "backends/cluster/joint_backend.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cluster/cluster_backend.h"
#include "backends/registry.h"
#include "core/plan/builder.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using namespace std::chrono_literals;
using test::Children;
using test::require;

/// Every rank has `numel` bytes.
Plan plan_of(std::int32_t ranks, std::int64_t numel) {
  Plan plan;
  plan.ranks = ranks;
  PlanBuilder builder(plan);
  const View all = builder.whole(builder.buffer("a", BufferRole::inputs, DType::u8, numel));
  std::vector<Rank> each;
  for (std::int32_t rank = 0; rank < ranks; ++rank) each.push_back(Rank{rank});
  builder.op(Copy{}, {}, Stream::compute, each).on(all).on(all);
  return plan;
}

std::unique_ptr<Joint> joint_on(Transport& transport) {
  return make_joint_backend(make_cluster_backend(make_backend("cpu", {.profile = "ideal"}), transport),
                            transport);
}

TEST(JointBackend, EveryProcessReadsEveryRank) {
  Children children;
  test::start_conversation(children, 3, {.comm_timeout = 20s}, [](Transport& transport) {
    const auto joint = joint_on(transport);
    const Plan plan = plan_of(4, (std::int64_t{1} << 22) + 3);  // more than travels in one call
    const View whole{BufferId{0}, 0, plan.buffers[0].numel};
    std::vector<std::byte> bytes(static_cast<std::size_t>(whole.numel));
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      std::ranges::fill(bytes, std::byte(rank + 1));
      joint->whole().write(plan, Rank{rank}, whole, bytes);
    }
    joint->execute(plan, OpIndex{0}, OpIndex{1});
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      require(joint->whole().holds(plan, Rank{rank}), "all ranks are in reach");
      joint->whole().read(plan, Rank{rank}, whole, bytes);
      require(std::ranges::count(bytes, std::byte(rank + 1)) == whole.numel, "the bytes of that rank");
    }
  });
  for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST(JointBackend, AllKnowWhatOneFound) {
  Children children;
  test::start_conversation(children, 2, {.comm_timeout = 20s}, [](Transport& transport) {
    const auto joint = joint_on(transport);
    std::vector<Finding> mine;
    if (transport.process() == 1) mine.push_back({.clause = "W4"});
    const auto all = agreed(*joint, mine);
    require(all.size() == 1 && all[0].clause == "W4", "the finding of process 1");
  });
  for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST(JointBackend, AnotherPlanIsNoticedBeforeItRuns) {
  Children children;
  test::start_conversation(children, 2, {.comm_timeout = 20s}, [](Transport& transport) {
    const auto joint = joint_on(transport);
    const Plan plan = plan_of(2, transport.process() == 0 ? 5 : 6);
    joint->execute(plan, OpIndex{0}, OpIndex{1});
  });
  for (const auto& ended : children.wait_for_all()) {
    EXPECT_EQ(ended.status, 3);
    EXPECT_NE(ended.output.find("starting a plan"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace shardcheck
