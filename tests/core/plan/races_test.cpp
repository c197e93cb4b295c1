// Races of small plans, edge by edge, and that the order through events, pools and other ranks is seen.
#include "core/plan/races.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

class Races : public testing::Test {
 protected:
  BufferId buffer(std::int64_t numel) { return build.buffer("b", BufferRole::main_grad, DType::f32, numel); }
  void fill(View view, Stream stream) { build.op(Fill{}, {}, stream, both).on(view); }
  void read(View view, Stream stream) { build.op(Copy{}, {}, stream, both).on(view).on(build.whole(sink)); }
  void order(Stream before, Stream after, std::span<const Rank> ranks) {
    const EventId event = build.event();
    build.op(Record{event}, {}, before, ranks);
    build.op(Wait{event}, {}, after, ranks);
  }

  Plan plan{.ranks = 2};
  PlanBuilder build{plan};
  std::vector<Rank> both{Rank{0}, Rank{1}};
  std::vector<Rank> one{Rank{1}};
  BufferId sink = build.buffer("sink", BufferRole::main_grad, DType::f32, 4);
};

TEST_F(Races, WriteAndReadWithoutAnOrder) {
  const BufferId b = buffer(4);
  fill({b, 0, 4}, Stream::compute);
  read({b, 0, 4}, Stream::reduce);
  const std::vector<Race> expected{{OpIndex{0}, OpIndex{1}, Rank{0}, View{b, 0, 4}}};
  EXPECT_EQ(races_of(plan), expected);
}

TEST_F(Races, AnEventOrdersThem) {
  const BufferId b = buffer(4);
  fill({b, 0, 4}, Stream::compute);
  order(Stream::compute, Stream::reduce, both);
  read({b, 0, 4}, Stream::reduce);
  EXPECT_TRUE(races_of(plan).empty());
}

TEST_F(Races, AnEventRecordedTooEarlyDoesNot) {
  const BufferId b = buffer(4);
  order(Stream::compute, Stream::reduce, both);
  fill({b, 0, 4}, Stream::compute);
  read({b, 0, 4}, Stream::reduce);
  EXPECT_EQ(races_of(plan).size(), 1u);
}

TEST_F(Races, OnlyTheRankThatWaitsIsOrdered) {
  const BufferId b = buffer(4);
  fill({b, 0, 4}, Stream::compute);
  order(Stream::compute, Stream::reduce, one);
  read({b, 0, 4}, Stream::reduce);
  ASSERT_EQ(races_of(plan).size(), 1u);
  EXPECT_EQ(races_of(plan)[0].rank, Rank{0});
}

TEST_F(Races, TwoReadersAndDisjointRangesAreNone) {
  const BufferId b = buffer(8);
  fill({b, 0, 8}, Stream::compute);
  order(Stream::compute, Stream::reduce, both);
  read({b, 0, 4}, Stream::reduce);
  fill({b, 4, 4}, Stream::compute);
  EXPECT_TRUE(races_of(plan).empty());
}

TEST_F(Races, AReaderThatNobodyWaitsForRacesWithTheNextWriter) {  // edge E8
  const BufferId b = buffer(4);
  fill({b, 0, 4}, Stream::compute);
  order(Stream::compute, Stream::reduce, both);
  read({b, 0, 4}, Stream::reduce);
  fill({b, 2, 2}, Stream::compute);
  const std::vector<Race> expected{{OpIndex{3}, OpIndex{4}, Rank{0}, View{b, 2, 2}}};
  EXPECT_EQ(races_of(plan), expected);
}

TEST_F(Races, AllOfThemNotOnlyTheFirst) {
  const BufferId a = buffer(4), b = buffer(4);
  fill({a, 0, 4}, Stream::compute);
  fill({b, 0, 4}, Stream::compute);
  read({a, 0, 4}, Stream::reduce);
  read({b, 0, 4}, Stream::reduce);
  EXPECT_EQ(races_of(plan).size(), 2u);
}

TEST_F(Races, AnOrderHoldsThroughAThirdOp) {
  const BufferId b = buffer(4), c = buffer(4);
  fill({b, 0, 4}, Stream::compute);
  order(Stream::compute, Stream::reduce, both);
  fill({c, 0, 4}, Stream::reduce);
  order(Stream::reduce, Stream::compute, both);
  fill({c, 0, 4}, Stream::compute);
  read({b, 0, 4}, Stream::reduce);
  EXPECT_TRUE(races_of(plan).empty());
}

TEST_F(Races, StorageBackToThePoolAndOutAgain) {  // wgrad 6.1 (e), edge E2
  const BufferId b = buffer(4);
  build.op(CloseLease{}, {}, Stream::reduce, both).on({b, 0, 4});
  build.op(OpenLease{}, {}, Stream::compute, both).on({b, 0, 4});
  EXPECT_EQ(races_of(plan).size(), 1u);
}

/// Rank 0 writes on its compute stream and reads on the other; what orders the two is rank 1, which takes
/// part in a collective of each stream, one after the other (wgrad 6.1 d).
TEST_F(Races, AnotherRankOrders) {
  const BufferId b = buffer(4), c = buffer(4), d = buffer(4);
  const std::vector<Rank> zero{Rank{0}};
  build.op(Fill{}, {}, Stream::compute, zero).on({b, 0, 4});
  build.op(Communicate{.group = 2}, {}, Stream::compute, both).on({c, 0, 4}).on({c, 0, 4});
  order(Stream::compute, Stream::reduce, one);
  build.op(Communicate{.group = 2}, {}, Stream::reduce, both).on({d, 0, 4}).on({d, 0, 4});
  build.op(Copy{}, {}, Stream::reduce, zero).on({b, 0, 4}).on({d, 0, 4});
  EXPECT_TRUE(races_of(plan).empty());
  for (Op& op : plan.ops) {  // without rank 1's wait nothing orders them
    if (std::holds_alternative<Wait>(op.action)) op.action = Ready{};
  }
  EXPECT_EQ(races_of(plan).size(), 1u);
}

TEST_F(Races, AConsumerReadsFromFinishOn) {
  const BufferId b = buffer(4);
  build.op(Finish{}, {}, Stream::reduce, both).on({b, 0, 4});
  fill({b, 0, 4}, Stream::compute);
  EXPECT_EQ(races_of(plan).size(), 1u);
}

// ---- Random plans against the definition: reachability in the graph of all ops on all ranks.

/// One node an op and rank that begins, one that ends; a collective ends after all of its group have begun.
class Closure {
 public:
  explicit Closure(const Plan& plan) : plan_(plan), ranks_(static_cast<std::size_t>(plan.ranks)) {
    const std::size_t nodes = 2 * plan.ops.size() * ranks_;
    reaches_.assign(nodes, std::vector<bool>(nodes));
    for (std::size_t op = plan.ops.size(); op-- > 0;) {
      for (Rank rank : plan.ranks_of(plan.ops[op])) close_end(op, rank);
      for (Rank rank : plan.ranks_of(plan.ops[op])) close_begin(op, rank);
    }
  }

  bool is_ordered(std::size_t first, std::size_t second, Rank rank) const {
    return reaches_[end(first, rank)][begin(second, rank)];
  }

 private:
  std::size_t begin(std::size_t op, Rank rank) const {
    return 2 * (op * ranks_ + static_cast<std::size_t>(rank.value));
  }
  std::size_t end(std::size_t op, Rank rank) const { return begin(op, rank) + 1; }
  void edge(std::size_t from, std::size_t to) {
    reaches_[from][to] = true;
    for (std::size_t i = 0; i < reaches_.size(); ++i) {
      if (reaches_[to][i]) reaches_[from][i] = true;
    }
  }
  bool is_on(const Op& op, Rank rank) const {
    for (Rank each : plan_.ranks_of(op)) {
      if (each == rank) return true;
    }
    return false;
  }
  /// Later nodes are closed already.
  void close_end(std::size_t op, Rank rank) {
    const Op& it = plan_.ops[op];
    const auto* record = std::get_if<Record>(&it.action);
    for (std::size_t later = op + 1; later < plan_.ops.size(); ++later) {
      const Op& other = plan_.ops[later];
      if (!is_on(other, rank)) continue;
      const auto* wait = std::get_if<Wait>(&other.action);
      const bool waits = record != nullptr && wait != nullptr && wait->event == record->event;
      if (other.stream == it.stream || waits) edge(end(op, rank), begin(later, rank));
    }
  }
  /// All begins of a collective lead to all of its ends.
  void close_begin(std::size_t op, Rank rank) {
    const Op& it = plan_.ops[op];
    edge(begin(op, rank), end(op, rank));
    if (!std::holds_alternative<Communicate>(it.action)) return;
    for (Rank peer : plan_.ranks_of(it)) edge(begin(op, rank), end(op, peer));
  }

  const Plan& plan_;
  std::size_t ranks_;
  std::vector<std::vector<bool>> reaches_;
};

Plan random_plan(std::mt19937& random) {
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  Plan plan{.ranks = 3};
  PlanBuilder build(plan);
  const BufferId b = build.buffer("b", BufferRole::main_grad, DType::f32, 6);
  const std::vector<Rank> all{Rank{0}, Rank{1}, Rank{2}};
  std::vector<EventId> events;
  for (int i = 0; i < 14; ++i) {
    const Stream stream = static_cast<Stream>(draw(2));
    const std::vector<Rank> some{all[static_cast<std::size_t>(draw(3))]};
    const std::int64_t offset = draw(5);
    const View view{b, offset, 1 + draw(6 - offset)};
    switch (draw(6)) {
      case 0: build.op(Fill{}, {}, stream, draw(2) ? all : some).on(view); break;
      case 1: build.op(Finish{}, {}, stream, draw(2) ? all : some).on(view); break;
      case 2: build.op(Communicate{.group = 3}, {}, stream, all).on(view).on(view); break;
      case 3:
        events.push_back(build.event());
        build.op(Record{events.back()}, {}, stream, draw(2) ? all : some);
        break;
      default:
        if (!events.empty())
          build.op(Wait{events[static_cast<std::size_t>(draw(std::ssize(events)))]}, {}, stream,
                   draw(2) ? all : some);
    }
  }
  return plan;
}

/// Pairs in conflict on a rank without an order, by the definition; by second op.
std::map<std::int32_t, std::set<std::int32_t>> defined_races(const Plan& plan) {
  const Closure closure(plan);
  std::map<std::int32_t, std::set<std::int32_t>> races;
  const auto touches = [&](const Op& op, Rank rank, bool& writes) -> std::optional<View> {
    writes = !std::holds_alternative<Finish>(op.action);
    const auto ranks = plan.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (op.operands > 0 && ranks[i] == rank) return plan.operand(op, 0)[i];
    }
    return std::nullopt;
  };
  for (std::size_t second = 0; second < plan.ops.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
        bool a_writes = false, b_writes = false;
        const auto a = touches(plan.ops[first], Rank{rank}, a_writes),
                   b = touches(plan.ops[second], Rank{rank}, b_writes);
        const bool conflict = a && b && (a_writes || b_writes) && a->offset < b->offset + b->numel &&
                              b->offset < a->offset + a->numel;
        if (conflict && !closure.is_ordered(first, second, Rank{rank}))
          races[static_cast<std::int32_t>(second)].insert(static_cast<std::int32_t>(first));
      }
    }
  }
  return races;
}

TEST(RandomRaces, AreThoseOfTheDefinition) {
  std::mt19937 random(7);
  int with_races = 0, without = 0;
  for (int i = 0; i < 3000; ++i) {
    const Plan plan = random_plan(random);
    const auto defined = defined_races(plan);
    std::set<std::int32_t> found;
    for (const Race& race : races_of(plan)) {
      const auto of_second = defined.find(race.second.value);
      ASSERT_TRUE(of_second != defined.end() && of_second->second.contains(race.first.value)) << i;
      found.insert(race.second.value);
    }
    ASSERT_EQ(found.size(), defined.size()) << "plan " << i;
    ++(defined.empty() ? without : with_races);
  }
  EXPECT_GT(with_races, 100);
  EXPECT_GT(without, 100);
}

}  // namespace
}  // namespace shardcheck
