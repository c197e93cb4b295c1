// The scale of mean and per-token loss: one product, whatever the place that applies it (wgrad 2.3, W24).
#include "sim/owners/reduction.h"

#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// Product of all scales that a contribution of the only parameter meets in a step, averages included.
double total_scale(const Scenario& s) {
  double total = 1;
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    if (op.why.step != 0) continue;
    if (const auto* scale = std::get_if<Scale>(&op.action)) total *= static_cast<double>(scale->factor);
    if (const auto* c = std::get_if<Communicate>(&op.action))
      if (c->reduction == Reduction::average) total /= c->group;
  }
  return total;
}

struct ScaleCase {
  Loss loss;
  Scaling scaling;
  std::string_view words;  // between the last hook and the optimizer, of a dense parameter
  std::string_view of_expert;
};

TEST(Reduction, TheTotalScaleDoesNotDependOnItsPlace) {
  const ScaleCase cases[] = {
      {Loss::mean, Scaling::before, "scale AR finish", "scale AR finish"},
      {Loss::mean, Scaling::in_collective, "AR-avg finish", "scale AR-avg finish"},
      {Loss::mean, Scaling::finalize, "AR divide finish", "AR divide finish"},
      {Loss::per_token, Scaling::before, "AR divide finish", "AR divide finish"},
      {Loss::per_token, Scaling::in_collective, "AR divide finish", "AR divide finish"},
  };
  for (const ScaleCase& c : cases) {
    for (const bool expert : {false, true}) {
      Scenario s = base(Strategy::megatron_ddp);
      s.overlap = false;
      s.microbatches = 1;
      s.ranks = 8;
      s.expert_parallel = 2;
      s.parameters[0].expert = expert;
      s.loss = c.loss;
      s.scaling = c.scaling;
      s.tokens = 4;
      const std::string words(expert ? c.of_expert : c.words);
      EXPECT_EQ(story(plan_of(s), 0), "[ zero | write1 flag dummy drop " + words + " sgd ]");
      EXPECT_EQ(total_scale(s), c.loss == Loss::mean ? 1.0 / 8 : 1.0 / 32) << words << expert;
    }
  }
}

TEST(Reduction, AGroupOfOneIsScaledLikeTheOthers) {
  for (const Scaling scaling : {Scaling::before, Scaling::in_collective, Scaling::finalize}) {
    Scenario s = base(Strategy::fsdp_optim_grads);
    s.microbatches = 1;
    s.ranks = s.expert_parallel = 4;
    s.parameters[0].expert = true;
    s.scaling = scaling;
    EXPECT_EQ(total_scale(s), 0.25) << name_of(scaling);
  }
}

TEST(Reduction, ExpertGroupsAreStrided) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 4;
  s.expert_parallel = 2;
  s.parameters[0].expert = true;
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    const auto* c = std::get_if<Communicate>(&op.action);
    if (c == nullptr) continue;
    EXPECT_EQ(c->group, 2);
    EXPECT_EQ(describe(planned.plan.ranks_of(op)), "ranks 0, 2, 1, 3");
  }
}

TEST(Reduction, PlacementsNameTheCutParameters) {
  const OwnerBucket bucket{.hi = 12, .group = 2, .members = {{0, 0, 4}, {1, 4, 4}, {2, 5, 12}}};
  std::vector<Placement> placements;
  append_placements(bucket, 3, 9, {BufferId{7}, 100, 6}, Rank{1}, placements);
  ASSERT_EQ(placements.size(), 2u) << "none for a parameter without elements";
  EXPECT_EQ(placements[0].parameter.value, 0);
  EXPECT_EQ(placements[0].view, (View{BufferId{7}, 100, 1}));
  EXPECT_EQ(placements[0].first, 3);
  EXPECT_EQ(placements[1].parameter.value, 2);
  EXPECT_EQ(placements[1].view, (View{BufferId{7}, 102, 4}));
  EXPECT_EQ(placements[1].first, 0);
}

}  // namespace
}  // namespace shardcheck::tests
