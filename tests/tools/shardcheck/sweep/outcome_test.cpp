// What decides: a knob that flips the result beside one that does not.
#include "tools/shardcheck/sweep/outcome.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Outcomes, SaysWhichKnobFlipsTheResult) {
  const auto knobs = knobs_of({"ranks=1..2", "microbatches=1..2"});
  const auto settings = settings_of(knobs);
  const Outcome held, broken{Outcome::Kind::broken, {"W26", "W2"}, "twice"};
  const auto sentences = what_decides(knobs, settings, {held, broken, held, broken});
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0], "ranks makes no difference");
  EXPECT_EQ(sentences[1], "microbatches flips the result: always broken at 2; never at 1");
  EXPECT_EQ(broken.text(), "W26 +1");
}

TEST(Outcomes, ASettingThatIsNoScenarioDoesNotCount) {
  const auto knobs = knobs_of({"ranks=1..2"});
  const Outcome held, invalid{Outcome::Kind::invalid, {}, "no"};
  EXPECT_EQ(what_decides(knobs, settings_of(knobs), {held, invalid})[0], "ranks makes no difference");
}

}  // namespace
}  // namespace shardcheck
