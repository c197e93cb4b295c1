// The order between whole ops: through streams, events and other ranks.
#include "core/plan/happens_before.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

class Order : public testing::Test {
 protected:
  void op(Action action, Stream stream, const std::vector<Rank>& ranks) {
    build.op(action, {}, stream, ranks);
  }
  bool orders(std::int32_t a, std::int32_t b) { return HappensBefore(plan).orders(OpIndex{a}, OpIndex{b}); }

  Plan plan{.ranks = 2};
  PlanBuilder build{plan};
  std::vector<Rank> both{Rank{0}, Rank{1}}, zero{Rank{0}}, one{Rank{1}};
};

TEST_F(Order, OfOneStreamAndNotOfTwo) {
  op(BeginStep{}, Stream::compute, both);
  op(BeginStep{}, Stream::reduce, both);
  op(BeginStep{}, Stream::compute, both);
  EXPECT_TRUE(orders(0, 2));
  EXPECT_FALSE(orders(0, 1));
  EXPECT_FALSE(orders(1, 2));
}

TEST_F(Order, ThroughAnEventAndOnlyWhatWasThereWhenItWasRecorded) {
  const EventId event = build.event();
  op(BeginStep{}, Stream::compute, both);
  op(Record{event}, Stream::compute, both);
  op(BeginStep{}, Stream::compute, both);
  op(Wait{event}, Stream::reduce, both);
  op(BeginStep{}, Stream::reduce, both);
  EXPECT_TRUE(orders(0, 4));
  EXPECT_FALSE(orders(2, 4));
  const HappensBefore order(plan);
  EXPECT_EQ(order.last_before(OpIndex{4}, Rank{1}, Stream::compute), 1);
  EXPECT_EQ(order.before(OpIndex{4}), std::vector<std::int32_t>{3});
  EXPECT_EQ(order.before(OpIndex{3}), std::vector<std::int32_t>{1});
}

TEST_F(Order, AWaitForWhatIsNotRecordedYetOrdersNothing) {
  const EventId event = build.event();
  op(BeginStep{}, Stream::compute, both);
  op(Wait{event}, Stream::reduce, both);
  op(Record{event}, Stream::compute, both);
  EXPECT_FALSE(orders(0, 1));
}

TEST_F(Order, SetupComesBeforeAllAndLateStorageBeforeItsUsers) {
  const View early{build.buffer("a", BufferRole::main_grad, DType::f32, 1), 0, 1};
  const View late{build.buffer("b", BufferRole::lease_slot, DType::f32, 1), 0, 1};
  const Why setup{.purpose = Purpose::setup};
  build.op(Allocate{}, setup, Stream::compute, zero).on(early);
  build.op(Allocate{}, setup, Stream::compute, one).on(early);
  build.op(Fill{}, {}, Stream::reduce, zero).on(early);
  EXPECT_TRUE(orders(0, 2));
  EXPECT_TRUE(orders(1, 2));
  build.op(Allocate{}, setup, Stream::compute, both).on(late);
  build.op(Fill{}, {}, Stream::reduce, both).on(early);
  build.op(Fill{}, {}, Stream::reduce, both).on(late);
  EXPECT_FALSE(orders(3, 4));
  EXPECT_TRUE(orders(3, 5));
}

TEST_F(Order, ThroughAnOpOnBothRanks) {
  op(BeginStep{}, Stream::compute, zero);
  op(BeginStep{}, Stream::compute, one);
  EXPECT_FALSE(orders(0, 1));
  op(BeginStep{}, Stream::compute, both);
  op(BeginStep{}, Stream::compute, one);
  EXPECT_TRUE(orders(0, 3));
  EXPECT_TRUE(orders(1, 3));
}

}  // namespace
}  // namespace shardcheck
