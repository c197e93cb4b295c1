// audit: recorded traces, what is no trace, and a run whose interpreter or framework is missing.
#include <filesystem>

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class Audit : public InFolder {
 protected:
  static std::string recorded(const std::string& name) { return SHARDCHECK_TEST_DATA "/audit/" + name; }
};

TEST_F(Audit, ARightRunHolds) {
  const CommandRun held = run({"audit", recorded("ddp-silent")});
  EXPECT_EQ(held.status, 0) << held.out << held.err;
  for (const char* part : {"W30     held", "find_unused true", "held: ", "ddp"})
    EXPECT_TRUE(holds(held.out, part)) << part << " in\n" << held.out;
}

TEST_F(Audit, SeveralTracesAreATable) {
  const CommandRun all = run({"audit", SHARDCHECK_TEST_DATA "/audit", "--json", "-"});
  EXPECT_EQ(all.status, 1) << all.out << all.err;
  EXPECT_TRUE(holds(all.err, "BROKEN")) << all.err;
  EXPECT_TRUE(holds(all.out, "\"verdict\": \"BROKEN\"")) << all.out;
}

TEST_F(Audit, APageTellsOneTrace) {
  EXPECT_EQ(run({"audit", recorded("deepspeed-zero3-stale-h200"), "--html", "page.html"}).status, 1);
  const std::string page = content_of("page.html");
  EXPECT_TRUE(holds(page, "deepspeed 0.19.8")) << page.substr(0, 400);
  EXPECT_TRUE(holds(page, "\"clause\":\"W8\""));
  const CommandRun several = run({"audit", SHARDCHECK_TEST_DATA "/audit", "--html", "all.html"});
  EXPECT_EQ(several.status, 2);
  EXPECT_TRUE(holds(several.err, "a page tells one trace")) << several.err;
  EXPECT_FALSE(std::filesystem::exists("all.html"));
  EXPECT_EQ(run({"audit", "--run", "--html", "all.html"}).status, 2);
  EXPECT_EQ(run({"audit", recorded("ddp-silent"), "--html", "-", "--json", "-"}).status, 2);
}

TEST_F(Audit, WhatIsNoTraceIsASentence) {
  const CommandRun none = run({"audit", "nowhere"});
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(holds(none.err, "nowhere: is no folder")) << none.err;
  EXPECT_EQ(run({"audit"}).status, 2);
  EXPECT_EQ(run({"audit", "nowhere", "--run"}).status, 2);
}

TEST_F(Audit, WhatTheProbeRefusesIsItsOwnSentence) {
  write("python", "#!/bin/sh\necho 'shardcheck_probe: torch is missing here' >&2\nexit 3\n");
  std::filesystem::permissions("python", std::filesystem::perms::owner_all);
  const CommandRun refused =
      run({"audit", "--run", "--python", "./python", "--tries", "2", "--out", "traces"});
  EXPECT_EQ(refused.status, 3) << refused.out;
  EXPECT_EQ(refused.err, "shardcheck: torch is missing here\n");
  // The cases are there, for whoever wants to run them elsewhere; a second run does not mix with them.
  EXPECT_TRUE(std::filesystem::exists("traces/cases/cases.json"));
  const CommandRun again = run({"audit", "--run", "--python", "./python", "--out", "traces"});
  EXPECT_EQ(again.status, 2);
  EXPECT_TRUE(holds(again.err, "is not empty")) << again.err;
}

TEST_F(Audit, ARunWithoutItsInterpreterOrProbeIsASentence) {
  const CommandRun python = run({"audit", "--run", "--python", "no-such-python", "--tries", "1"});
  EXPECT_EQ(python.status, 3) << python.out;
  EXPECT_TRUE(holds(python.err, "no-such-python")) << python.err;
  const CommandRun probe = run({"audit", "--run", "--probe", "no-such-folder", "--out", "other"});
  EXPECT_EQ(probe.status, 2);
  EXPECT_TRUE(holds(probe.err, "no-such-folder")) << probe.err;
}

}  // namespace
}  // namespace shardcheck
