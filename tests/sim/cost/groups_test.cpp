// Which ranks a parameter is reduced over, and how many of them share a node.
#include "sim/cost/groups.h"

#include <gtest/gtest.h>

namespace shardcheck::cost {
namespace {

using layout::AxisUse;
using layout::Mesh;

void expect(const Group& group, double ranks, double in_node) {
  EXPECT_EQ(group.ranks, ranks);
  EXPECT_EQ(group.in_node, in_node);
}

TEST(Groups, TensorParallelismSpreadsThemOverNodes) {
  expect(groups_of(layout::mesh_of(64), {}).inner, 64, 8);
  expect(groups_of({{{"dp", 64, AxisUse::shard}, {"tp", 4, AxisUse::tensor}}}, {}).inner, 64, 2);
  expect(groups_of({{{"dp", 64, AxisUse::shard}, {"tp", 16, AxisUse::tensor}}}, {}).inner, 64, 1);
  expect(groups_of({{{"tp", 4, AxisUse::tensor}, {"dp", 64, AxisUse::shard}}}, {}).inner, 64, 8);
  expect(groups_of(layout::mesh_of(4), {}).inner, 4, 4);
}

TEST(Groups, ExpertsHaveTheirPeersBetweenTheirMembers) {
  expect(groups_of(layout::mesh_of(64), {.expert = 4}).inner, 16, 2);
  expect(groups_of(layout::mesh_of(64), {.expert = 8}).inner, 8, 1);
}

TEST(Groups, AnOuterAxisIsOneOfCopiesOrTheFirstOfTwoThatShard) {
  const Mesh hsdp{{{"replicate", 4, AxisUse::replicate}, {"dp", 16, AxisUse::shard}}};
  const Mesh hfsdp{{{"outer", 2, AxisUse::shard}, {"inner", 4, AxisUse::shard}}};
  const System& fsdp2 = *find_system("fsdp2");
  EXPECT_EQ(outer_axis_of(fsdp2, hsdp), OuterAxis::replicates);
  EXPECT_EQ(outer_axis_of(fsdp2, hfsdp), OuterAxis::shards);
  EXPECT_EQ(outer_axis_of(fsdp2, layout::mesh_of(8)), OuterAxis::none);
  EXPECT_EQ(outer_axis_of(*find_system("megatron-ddp"), hsdp), OuterAxis::none);
  expect(groups_of(hsdp, {.outer = OuterAxis::replicates}).inner, 16, 8);
  expect(groups_of(hsdp, {.outer = OuterAxis::replicates}).outer, 4, 1);
  expect(groups_of(hsdp, {}).inner, 64, 8);
  expect(groups_of(hfsdp, {.outer = OuterAxis::shards}).inner, 4, 4);
  expect(groups_of(hfsdp, {.outer = OuterAxis::shards}).outer, 2, 2);
}

}  // namespace
}  // namespace shardcheck::cost
