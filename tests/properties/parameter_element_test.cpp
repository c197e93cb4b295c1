// Places in buffers mean the elements that the plan's placements say.
#include "properties/parameter_element.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

TEST(ParameterElement, FollowsPlacementsLeasesAndAutograd) {
  Plan plan;
  plan.ranks = 2;
  plan.parameters = {{"a", 2, 2, true, 2}, {"b", 1, 4, true, 2}};
  PlanBuilder build(plan);
  const std::vector<Rank> all = {Rank{0}, Rank{1}};
  const BufferId shard = build.buffer("shard", BufferRole::shard, DType::f32, 4);
  const BufferId slot = build.buffer("slot", BufferRole::lease_slot, DType::f32, 16);
  const BufferId grad = build.buffer("grad", BufferRole::param_grad, DType::f32, 4);
  plan.placements = {{ParamId{0}, Rank{1}, {shard, 1, 2}, 2}};
  plan.buckets = {{{ParamId{0}, Rank{-1}, {slot, 0, 4}, 0}}, {{ParamId{1}, Rank{-1}, {slot, 2, 4}, 0}}};
  build.op(OpenLease{0}, {}, Stream::compute, all).on({slot, 0, 8});
  build.op(OpenLease{1}, {}, Stream::compute, all).on({slot, 8, 8});
  build.op(Fill{}, {.parameter = ParamId{1}}, Stream::compute, all).on({slot, 0, 4});
  const auto at = [&](BufferId buffer, std::int64_t offset, int rank) {
    const ParameterElement e = parameter_element(plan, {OpIndex{2}, Rank{rank}, buffer, offset});
    return std::pair{e.parameter.value, e.element};
  };
  using Place = std::pair<std::int32_t, std::int64_t>;
  EXPECT_EQ(at(shard, 2, 1), (Place{0, 3}));
  EXPECT_EQ(at(shard, 2, 0), (Place{1, -1})) << "another rank's shard: the op's own parameter";
  EXPECT_EQ(at(shard, 3, 1), (Place{1, -1})) << "padding";
  EXPECT_EQ(at(slot, 3, 0), (Place{0, 3}));
  EXPECT_EQ(at(slot, 11, 0), (Place{1, 1}));
  EXPECT_EQ(at(slot, 15, 0), (Place{1, -1}));
  EXPECT_EQ(at(grad, 2, 0), (Place{1, 2}));
}

}  // namespace
}  // namespace shardcheck
