// A schedule runs the later op of a race first, keeps every order that holds, and is refused where there is
// none.
#include "core/plan/schedule.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

std::vector<std::int32_t> numbers(const std::vector<OpIndex>& order) {
  std::vector<std::int32_t> all;
  for (OpIndex op : order) all.push_back(op.value);
  return all;
}

class Schedules : public testing::Test {
 protected:
  void fill(Stream stream) { build.op(Fill{}, {}, stream, both).on(build.whole(b)); }

  Plan plan{.ranks = 2};
  PlanBuilder build{plan};
  std::vector<Rank> both{Rank{0}, Rank{1}}, one{Rank{1}};
  BufferId b = build.buffer("b", BufferRole::main_grad, DType::f32, 4);
};

TEST_F(Schedules, PutsOffTheFirstOpAndWhatFollowsIt) {
  fill(Stream::compute);                                      // 0
  fill(Stream::reduce);                                       // 1: the first of the race
  build.op(Record{build.event()}, {}, Stream::reduce, both);  // 2: follows it
  fill(Stream::compute);                                      // 3: the second
  fill(Stream::compute);                                      // 4
  const auto order = schedule_against(plan, {OpIndex{1}, OpIndex{3}, Rank{0}, build.whole(b)});
  ASSERT_TRUE(order);
  EXPECT_EQ(numbers(*order), (std::vector<std::int32_t>{0, 3, 1, 2, 4}));
}

TEST_F(Schedules, ThereIsNoneAgainstAnEvent) {
  const EventId event = build.event();
  fill(Stream::reduce);
  build.op(Record{event}, {}, Stream::reduce, one);
  build.op(Wait{event}, {}, Stream::compute, one);
  fill(Stream::compute);
  EXPECT_FALSE(schedule_against(plan, {OpIndex{0}, OpIndex{3}, Rank{0}, build.whole(b)}));
}

}  // namespace
}  // namespace shardcheck
