// Classes of schedules against all schedules: random small plans are run in every order that is allowed, and
// those orders grouped by how they order conflicting ops.
#include "core/plan/explore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/plan/builder.h"
#include "core/plan/races.h"

namespace shardcheck {
namespace {

/// The same question answered by trying: every topological order, by the definitions of wgrad 6.1.
class BruteForce {
 public:
  explicit BruteForce(const Plan& plan) : plan_(plan), count_(plan.ops.size()), before_(count_) {
    for (std::size_t j = 0; j < count_; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (follows(i, j)) before_[j].push_back(i);
        if (conflict(i, j)) conflicts_.emplace_back(i, j);
      }
    }
    place_.assign(count_, -1);
    extend(0);
  }
  std::size_t classes() const { return classes_.size(); }
  std::int64_t schedules() const { return schedules_; }
  std::vector<bool> class_of(const std::vector<OpIndex>& order) const {
    std::vector<std::int32_t> place(count_);
    for (std::size_t i = 0; i < order.size(); ++i)
      place[static_cast<std::size_t>(order[i].value)] = static_cast<std::int32_t>(i);
    return class_by(place);
  }
  bool contains(const std::vector<bool>& some) const { return classes_.contains(some); }

 private:
  bool share_rank(const Op& a, const Op& b) const {
    const auto ranks = plan_.ranks_of(a), others = plan_.ranks_of(b);
    return std::ranges::any_of(ranks,
                               [&](Rank rank) { return std::ranges::find(others, rank) != others.end(); });
  }
  bool follows(std::size_t i, std::size_t j) const {
    const Op &a = plan_.ops[i], &b = plan_.ops[j];
    if (!share_rank(a, b)) return false;
    if (a.stream == b.stream) return true;
    const auto* record = std::get_if<Record>(&a.action);
    const auto* wait = std::get_if<Wait>(&b.action);
    return record != nullptr && wait != nullptr && record->event == wait->event;
  }
  bool conflict(std::size_t i, std::size_t j) const {
    const Op &a = plan_.ops[i], &b = plan_.ops[j];
    const Access one = ordered_access(a.action), other = ordered_access(b.action);
    for (int p = 0; p < a.operands; ++p) {
      for (int q = 0; q < b.operands; ++q) {
        const bool writes = (one.writes >> p & 1) || (other.writes >> q & 1);
        const View v = plan_.operand(a, p)[0], w = plan_.operand(b, q)[0];
        const bool meet =
            v.buffer == w.buffer && v.offset < w.offset + w.numel && w.offset < v.offset + v.numel;
        if (writes && meet && share_rank(a, b)) return true;
      }
    }
    return false;
  }
  std::vector<bool> class_by(const std::vector<std::int32_t>& place) const {
    std::vector<bool> orders;
    for (const auto& [i, j] : conflicts_) orders.push_back(place[i] < place[j]);
    return orders;
  }
  void extend(std::int32_t next) {
    if (next == static_cast<std::int32_t>(count_)) {
      ++schedules_;
      classes_.insert(class_by(place_));
      return;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const bool may =
          place_[i] < 0 && std::ranges::all_of(before_[i], [&](std::size_t b) { return place_[b] >= 0; });
      if (!may) continue;
      place_[i] = next;
      extend(next + 1);
      place_[i] = -1;
    }
  }

  const Plan& plan_;
  std::size_t count_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::pair<std::size_t, std::size_t>> conflicts_;
  std::vector<std::int32_t> place_;  // an op: its number in the order, -1 while it has none
  std::set<std::vector<bool>> classes_;
  std::int64_t schedules_ = 0;
};

/// Up to 12 ops on one or two ranks: fills and copies of small ranges, events, storage that comes and goes.
Plan random_plan(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  Plan plan{.ranks = 1 + below(2)};
  PlanBuilder build(plan);
  const BufferId b = build.buffer("b", BufferRole::lease_slot, DType::f32, 4);
  const BufferId sink = build.buffer("sink", BufferRole::main_grad, DType::f32, 16);
  std::vector<Rank> all, some{Rank{0}};
  for (std::int32_t r = 0; r < plan.ranks; ++r) all.push_back(Rank{r});
  std::vector<EventId> recorded;
  const std::int32_t tries = 6 + below(7);
  for (std::int32_t i = 0; i < tries; ++i) {
    const Stream stream = below(2) == 0 ? Stream::compute : Stream::reduce;
    const auto& ranks = below(4) == 0 ? some : all;
    const View view{b, below(3), 1 + below(2)};
    switch (below(6)) {
      case 0:
      case 1: build.op(Fill{1}, {}, stream, ranks).on(view); break;
      case 2: build.op(Copy{}, {}, stream, ranks).on(view).on({sink, i, view.numel}); break;
      case 3: build.op(CloseLease{}, {}, stream, ranks).on(view); break;
      case 4:
        recorded.push_back(build.event());
        build.op(Record{recorded.back()}, {}, stream, ranks);
        break;
      default: {
        if (recorded.empty()) break;
        const auto which = below(static_cast<std::uint32_t>(recorded.size()));
        build.op(Wait{recorded[static_cast<std::size_t>(which)]}, {}, stream, ranks);
      }
    }
  }
  return plan;
}

TEST(Explore, VisitsEveryClassOfAllSchedulesOnce) {
  std::int64_t schedules = 0, classes = 0, one_class = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const Plan plan = random_plan(seed);
    const BruteForce expected(plan);
    std::set<std::vector<bool>> visited;
    std::size_t reversed = 0;
    const Explored seen = explore(plan, 1'000'000, [&](const ScheduleClass& each) {
      ASSERT_EQ(each.order.size(), plan.ops.size());
      const auto of = expected.class_of(each.order);
      EXPECT_TRUE(expected.contains(of)) << "an order that is not allowed, seed " << seed;
      EXPECT_TRUE(visited.insert(of).second) << "a class twice, seed " << seed;
      EXPECT_GE(each.reversed.size(), reversed) << "those closest to the plan come first";
      reversed = each.reversed.size();
    });
    EXPECT_TRUE(seen.are_all);
    ASSERT_EQ(seen.classes, std::ssize(visited)) << seed;
    ASSERT_EQ(visited.size(), expected.classes()) << seed;
    schedules += expected.schedules();
    classes += seen.classes;
    one_class += seen.classes == 1;
    EXPECT_TRUE(seen.classes == 1 || !races_of(plan).empty()) << "no race, seed " << seed;
  }
  EXPECT_GT(schedules, 10 * classes) << "the plans are too small to show anything";
  EXPECT_GT(classes, 3000);
  EXPECT_GT(one_class, 100);
}

TEST(Explore, TheFirstIsThePlanAndTheSecondReversesOnePair) {
  Plan plan{.ranks = 1};
  PlanBuilder build(plan);
  const std::vector<Rank> rank{Rank{0}};
  const View b{build.buffer("b", BufferRole::main_grad, DType::f32, 4), 0, 4};
  build.op(Fill{1}, {}, Stream::compute, rank).on(b);
  build.op(Fill{2}, {}, Stream::reduce, rank).on(b);
  build.op(Fill{3}, {}, Stream::compute, rank).on(b);
  std::vector<ScheduleClass> classes;
  const auto keep = [&](const ScheduleClass& each) { classes.push_back(each); };
  const Explored all = explore(plan, 10, keep);
  EXPECT_EQ(all.pairs, 2);
  EXPECT_EQ(all.classes, 3);
  EXPECT_TRUE(all.are_all);
  ASSERT_EQ(classes.size(), 3u);
  const std::vector<OpIndex> as_planned{OpIndex{0}, OpIndex{1}, OpIndex{2}};
  EXPECT_EQ(classes[0].order, as_planned);
  EXPECT_TRUE(classes[0].reversed.empty());
  EXPECT_EQ(classes[1].reversed.size(), 1u);
  EXPECT_EQ(classes[2].reversed.size(), 1u);
}

/// Two fills of a buffer on two streams, for each of `count` buffers.
Plan racing_pairs(int count) {
  Plan plan{.ranks = 1};
  PlanBuilder build(plan);
  const std::vector<Rank> rank{Rank{0}};
  for (int i = 0; i < count; ++i) {
    const View b{build.buffer("b", BufferRole::main_grad, DType::f32, 4), 0, 4};
    build.op(Fill{1}, {}, Stream::compute, rank).on(b);
    build.op(Fill{2}, {}, Stream::reduce, rank).on(b);
  }
  return plan;
}

TEST(Explore, StopsAtTheBoundAndSaysSo) {
  const Plan plan = racing_pairs(20);
  std::int64_t visited = 0;
  const Explored bounded = explore(plan, 30, [&](const ScheduleClass&) { ++visited; });
  EXPECT_EQ(bounded.classes, 30);
  EXPECT_EQ(visited, 30);
  EXPECT_FALSE(bounded.are_all);
  EXPECT_EQ(bounded.pairs, 20);
}

TEST(Explore, ExactlyAsManyAsTheBoundAreAll) {
  const Plan plan = racing_pairs(1);
  EXPECT_TRUE(explore(plan, 2, [](const ScheduleClass&) {}).are_all);
  EXPECT_FALSE(explore(plan, 1, [](const ScheduleClass&) {}).are_all);
}

TEST(Explore, BeyondTheLimitOfRacingOpsTheOrderOfThePlanIsKept) {
  const Plan plan = racing_pairs(600);
  std::int64_t in_order = 0;
  const Explored seen = explore(plan, 3, [&](const ScheduleClass& each) {
    const auto place = [&](std::int32_t op) { return std::ranges::find(each.order, OpIndex{op}); };
    in_order += place(1198) < place(1199);
  });
  EXPECT_FALSE(seen.are_all);
  EXPECT_EQ(in_order, 3);
}

}  // namespace
}  // namespace shardcheck
