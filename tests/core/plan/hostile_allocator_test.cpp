// The slot that was returned last and may be used, and never one that is still lent or not ordered.
#include "core/plan/hostile_allocator.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

class Hostile : public testing::Test {
 protected:
  Hostile() {
    for (BufferId slot : {first, second}) op(Allocate{}, Stream::compute, slot);
  }
  std::int32_t op(Action action, Stream stream, BufferId slot) {
    build.op(action, {}, stream, rank).on({slot, 0, 4});
    return static_cast<std::int32_t>(plan.ops.size()) - 1;
  }
  void order() {
    const EventId event = build.event();
    build.op(Record{event}, {}, Stream::reduce, rank);
    build.op(Wait{event}, {}, Stream::compute, rank);
  }
  BufferId moved(std::int32_t index) {
    const auto other = with_hostile_allocator(plan);
    EXPECT_TRUE(other.has_value());
    const Plan& shown = other ? *other : plan;
    return shown.operand(shown.ops[static_cast<std::size_t>(index)], 0)[0].buffer;
  }

  Plan plan{.ranks = 1};
  PlanBuilder build{plan};
  std::vector<Rank> rank{Rank{0}};
  BufferId first = build.buffer("slot.0", BufferRole::lease_slot, DType::f32, 4);
  BufferId second = build.buffer("slot.1", BufferRole::lease_slot, DType::f32, 4);
};

TEST_F(Hostile, TakesTheSlotThatWasReturnedLast) {
  op(OpenLease{}, Stream::compute, first);
  op(CloseLease{}, Stream::compute, first);
  const std::int32_t open = op(OpenLease{}, Stream::compute, second);
  const std::int32_t fill = op(Fill{}, Stream::compute, second);
  EXPECT_EQ(moved(open), first);
  EXPECT_EQ(moved(fill), first);
  EXPECT_EQ(moved(1), second) << "storage is not moved";
}

TEST_F(Hostile, NotOneThatIsLentOrThatTheOpenerDoesNotRunAfter) {
  op(OpenLease{}, Stream::compute, first);
  op(OpenLease{}, Stream::compute, second);
  EXPECT_FALSE(with_hostile_allocator(plan).has_value()) << "both are lent, as planned";
  op(CloseLease{}, Stream::reduce, first);
  order();
  op(CloseLease{}, Stream::reduce, second);
  op(OpenLease{}, Stream::compute, first);
  EXPECT_FALSE(with_hostile_allocator(plan).has_value()) << "the second may still be in use";
}

TEST_F(Hostile, AFullPoolIsLeftAlone) {
  op(OpenLease{}, Stream::compute, first);
  op(CloseLease{}, Stream::reduce, first);
  op(OpenLease{}, Stream::compute, second);
  op(OpenLease{}, Stream::compute, first);
  EXPECT_FALSE(with_hostile_allocator(plan).has_value());
}

}  // namespace
}  // namespace shardcheck
