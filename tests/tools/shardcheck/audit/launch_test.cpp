// Launching the probe: with a stand-in for python that writes traces, and with scripts that fail or never
// end.
#include "tools/shardcheck/audit/launch.h"

#include "core/error.h"
#include "properties/audit/judge.h"
#include "tests/properties/audit/right_trace.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class LaunchCases : public InFolder {
 protected:
  static LaunchOrder order(std::vector<AuditCase> cases, std::chrono::seconds time) {
    return {.cases = std::move(cases),
            .folder = "traces",
            .end = std::chrono::steady_clock::now() + time,
            .progress = [](std::size_t) {}};
  }
  /// A python that is that shell script.
  static ProbeSetup script(const std::string& text) {
    write("python", "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions("python", std::filesystem::perms::owner_all);
    return {.python = "./python", .probe = "."};
  }
  const ProbeSetup stub_{.python = SHARDCHECK_STUB_PYTHON, .probe = "."};
};

TEST_F(LaunchCases, LeavesATraceForEveryCaseInTheirOrder) {
  AuditCase other = audit_tests::small_case();
  other.scenario.steps = 1;
  const Launched launched = launch(stub_, order({audit_tests::small_case(), other}, std::chrono::minutes(2)));
  EXPECT_FALSE(launched.was_cut);
  ASSERT_EQ(launched.folders.size(), 2u);
  EXPECT_EQ(read_trace(launched.folders[0]).audited.scenario.steps, 2);
  EXPECT_EQ(read_trace(launched.folders[1]).audited.scenario.steps, 1);
}

TEST_F(LaunchCases, TellsTheProbeWhatItWasTold) {
  ProbeSetup setup = stub_;
  setup.device = "cpu";
  setup.deadline = 17;
  setup.torchrun = {"--max-restarts", "0"};
  launch(setup, order({audit_tests::small_case()}, std::chrono::minutes(2)));
  const std::string called = content_of("stub.log");
  for (const char* part : {"-m shardcheck_probe --cases traces/cases.json --out traces", "--deadline 17",
                           "--device cpu", "--torchrun=--max-restarts 0"})
    EXPECT_TRUE(holds(called, part)) << called;
  write("bug.py", "wrong");
  EXPECT_TRUE(confirm(setup, "bug.py", 2).shows);
  EXPECT_TRUE(holds(content_of("stub.log"), "--nproc-per-node 2 --max-restarts 0 bug.py"));
}

TEST_F(LaunchCases, AProbeThatFailsWithoutAWordIsTheMachine) {
  try {
    launch(script("echo something else; exit 7"),
           order({audit_tests::small_case()}, std::chrono::minutes(2)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::machine_cannot);
    EXPECT_STREQ(error.what(), "the probe ended with status 7; what it said is in traces/probe.log");
  }
}

TEST_F(LaunchCases, EndsWhatDoesNotEnd) {
  const Launched launched =
      launch(script("exec sleep 600"), order({audit_tests::small_case()}, std::chrono::seconds(0)));
  EXPECT_TRUE(launched.was_cut);
  interrupt_flag() = true;
  const Confirmation cut = confirm(script("exec sleep 600"), "x.py", 2);
  EXPECT_TRUE(cut.was_cut);
  EXPECT_FALSE(cut.shows);
  const auto later = order({audit_tests::small_case()}, std::chrono::minutes(2));
  EXPECT_TRUE(launch(script("exec sleep 600"), later).was_cut);
}

TEST_F(LaunchCases, AScriptConfirmsByWhatItShows) {
  write("right.py", "right");
  const Confirmation right = confirm(stub_, "right.py", 2);
  EXPECT_FALSE(right.shows);
  EXPECT_EQ(right.lines.back(), "rank 1: all gradients are right");
  // A script that only fails shows nothing, and one that says WRONG and ends well neither.
  EXPECT_FALSE(confirm(script("echo ImportError; exit 1"), "x.py", 2).shows);
  EXPECT_FALSE(confirm(script("echo 'rank 0: WRONG'"), "x.py", 2).shows);
  EXPECT_FALSE(right.was_cut);
  EXPECT_TRUE(confirm(script("echo 'Timeout (0:01:00)!'; exit 1"), "x.py", 2).shows);
}

}  // namespace
}  // namespace shardcheck
