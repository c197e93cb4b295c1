// A stream knows what it has waited for, on its own rank, and what that had waited for.
#include "core/contract/clocks.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Clocks, AnEventCarriesWhatItsStreamHadSeen) {
  Plan plan;
  plan.ranks = 2;
  plan.events = 2;
  Clocks clocks(plan);
  const Moment write{Stream::reduce, 3};
  EXPECT_TRUE(clocks.is_after(Rank{0}, Stream::reduce, write)) << "its own stream";
  EXPECT_TRUE(clocks.is_after(Rank{0}, Stream::compute, {Stream::reduce, -1})) << "before all ops";
  EXPECT_FALSE(clocks.is_after(Rank{0}, Stream::compute, write));
  clocks.record(Rank{0}, Stream::reduce, EventId{0}, 2);
  clocks.wait(Rank{0}, Stream::compute, EventId{0});
  EXPECT_FALSE(clocks.is_after(Rank{0}, Stream::compute, write)) << "recorded before the write";
  clocks.record(Rank{0}, Stream::reduce, EventId{1}, 4);
  clocks.wait(Rank{0}, Stream::compute, EventId{1});
  EXPECT_TRUE(clocks.is_after(Rank{0}, Stream::compute, write));
  EXPECT_FALSE(clocks.is_after(Rank{1}, Stream::compute, write)) << "another rank";
}

}  // namespace
}  // namespace shardcheck
