// explain prints the whole diagnosis of the first finding.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using Explain = InFolder;

TEST_F(Explain, SaysWhyAndWhatWouldMendIt) {
  const CommandRun explain = run({"explain", write("broken.json", broken_scenario())});
  EXPECT_EQ(explain.status, 1) << explain.err;
  for (const char* part : {"W4 Legal beta", "history", "first wrong", "mended by", "R5", "reproduce"})
    EXPECT_TRUE(holds(explain.out, part)) << part << " in\n" << explain.out;
}

TEST_F(Explain, DrawsAPageATimelineAndATest) {
  const CommandRun explain = run({"explain", write("broken.json", broken_scenario()), "--html", "e.html",
                                  "--timeline", "e.json", "--repro", "e.cpp"});
  EXPECT_EQ(explain.status, 1) << explain.err;
  EXPECT_TRUE(holds(content_of("e.html"), "Legal beta"));
  EXPECT_FALSE(nlohmann::json::parse(content_of("e.json"))["traceEvents"].empty());
  EXPECT_TRUE(holds(content_of("e.cpp"), "HoldsW4"));
}

TEST_F(Explain, AScenarioThatHoldsHasNothingToExplain) {
  const CommandRun explain = run({"explain", write("sound.json", sound_scenario())});
  EXPECT_EQ(explain.status, 0);
  EXPECT_TRUE(holds(explain.out, "held: nothing to explain")) << explain.out;
}

}  // namespace
}  // namespace shardcheck
