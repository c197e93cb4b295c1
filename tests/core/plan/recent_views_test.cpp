// A view is met again when it was met, and never when it was not.
#include "core/plan/recent_views.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(RecentViews, MeetWhatWasMet) {
  RecentViews recent;
  const View a{BufferId{0}, 0, 4}, b{BufferId{0}, 4, 4}, c{BufferId{1}, 0, 4};
  for (const View& view : {a, b, c}) EXPECT_FALSE(recent.meets_again(view));
  for (const View& view : {c, b, a}) EXPECT_TRUE(recent.meets_again(view));
}

TEST(RecentViews, NeverMeetWhatIsNew) {
  RecentViews recent;
  for (std::int64_t i = 0; i < 5000; ++i) EXPECT_FALSE(recent.meets_again({BufferId{0}, i, 1}));
}

}  // namespace
}  // namespace shardcheck
