// The executable in several processes, started as launchers start it: torchrun-style variables, mpirun.
#include "tools/shardcheck/processes.h"

#include <fmt/format.h>

#include <csignal>
#include <regex>

#include "backends/cluster/mpi_transport.h"
#include "backends/cuda/cuda_backend.h"
#include "tests/backends/cluster/children.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using test::Children;
using test::Ended;
using Words = std::vector<std::string>;

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Words command_with(const Words& words) {
  return joined({SHARDCHECK_EXECUTABLE}, words);
}

/// What a launcher tells process `process` of `processes`.
std::vector<std::pair<std::string, std::string>> variables_of(int process, int processes, int port) {
  return {{"RANK", std::to_string(process)},
          {"WORLD_SIZE", std::to_string(processes)},
          {"LOCAL_RANK", std::to_string(process)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

void start(Children& children, int processes, const Words& words) {
  const int port = test::free_port();
  for (int process = 0; process < processes; ++process)
    children.start(Children::Program{command_with(words), variables_of(process, processes, port)});
}

std::vector<Ended> run_in(int processes, const Words& words) {
  Children children;
  start(children, processes, words);
  return children.wait_for_all();
}

Ended run_alone(const Words& words) {
  Children children;
  children.start(Children::Program{command_with(words), {}});
  return children.wait(0);
}

Ended run_under_mpirun(int processes, const Words& words) {
  Children children;
  // A container's root may run it, and shared memory between processes may be forbidden there.
  children.start(Children::Program{
      joined({SHARDCHECK_MPIEXEC, "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(processes)},
             command_with(words)),
      {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
       {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
       {"NO_COLOR", "1"}}});
  return children.wait(0);
}

/// Without what may differ: times, rates and the number of processes.
std::string lasting(const std::string& text) {
  std::string rest = std::regex_replace(text, std::regex(", \\d+ processes"), "");
  rest = std::regex_replace(rest, std::regex(" *[0-9.]+ s\\b"), "");
  return std::regex_replace(rest, std::regex("\\(\\d[0-9,]* a second\\)"), "");
}

/// Four ranks, two uses of one weight in one lease by today's path: W4.
std::string broken_on_four_ranks() {
  return replaced(replaced(broken_scenario(), "[2, 2]", "[4, 4]"), R"("parameters")",
                  R"("mesh": {"ranks": 4}, "parameters")");
}

/// Kept where check runs it first: what process 0 prints of it says that all are at work.
void keep_sound_scenario() {
  std::filesystem::create_directories(".shardcheck/failures");
  std::ofstream(".shardcheck/failures/by-hand.json") << sound_scenario();
}
constexpr const char* kAtWork = "moved to .shardcheck/failures/mended/by-hand.json";

class Launched : public InFolder {};

TEST_F(Launched, TwoAndFourProcessesHoldAndOnlyTheFirstSpeaks) {
  const Words words{"check",       "legal-beta",   "poison-independence",
                    "reduce-once", "layout-bytes", "products",
                    "--cases",     "120",          "--seed",
                    "random"};
  for (const int processes : {2, 4}) {
    const auto all = run_in(processes, words);
    for (const Ended& ended : all) EXPECT_EQ(ended.status, 0) << ended.output;
    EXPECT_TRUE(holds(all[0].output, "held: 5 properties")) << all[0].output;
    EXPECT_TRUE(holds(all[0].output, fmt::format("cpu (ideal), {} processes", processes))) << all[0].output;
    for (int process = 1; process < processes; ++process)
      EXPECT_EQ(all[static_cast<std::size_t>(process)].output, "");
  }
}

TEST_F(Launched, ABrokenScenarioIsToldAsByOneProcess) {
  write("broken.json", broken_on_four_ranks());
  for (const char* verb : {"replay", "explain"}) {
    const Ended one = run_alone({verb, "broken.json"});
    ASSERT_EQ(one.status, 1) << one.output;
    EXPECT_TRUE(holds(one.output, "W4")) << one.output;
    const auto all = run_in(2, {verb, "broken.json"});
    EXPECT_EQ(all[0].status, 1);
    EXPECT_EQ(all[1].status, 1);
    EXPECT_EQ(lasting(all[0].output), lasting(one.output));
  }
}

TEST_F(Launched, ASearchFindsAndShrinksAsOneProcess) {
  // A wrong write, a wrong plan, and a corruption of a layout.
  const Words words{"zoo", "B-08", "B-14", "layout/B1", "--threads", "1"};
  const Ended one = run_alone(words);
  ASSERT_EQ(one.status, 0) << one.output;
  const auto all = run_in(2, words);
  for (const Ended& ended : all) EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(lasting(all[0].output), lasting(one.output));
}

TEST_F(Launched, OneProcessKeepsWhatAllFound) {
  const Words words{"check",      "--scenario", write("broken.json", broken_on_four_ranks()),
                    "legal-beta", "--json",     "result.json"};
  for (const Ended& ended : run_in(4, words)) EXPECT_EQ(ended.status, 1) << ended.output;
  const auto result = nlohmann::json::parse(content_of("result.json"));
  EXPECT_EQ(result["verdict"], "broken");
  EXPECT_EQ(result["processes"], 4);
  EXPECT_EQ(result["properties"][0]["findings"][0]["clause"], "W4");
  EXPECT_FALSE(result["properties"][0]["findings"][0]["history"].empty());
  const auto kept = files();
  EXPECT_EQ(kept.size(), 3u);  // the scenario, the result, the smallest failure
  for (const Ended& ended : run_in(2, {"replay", result["properties"][0]["failure"]["file"]}))
    EXPECT_EQ(ended.status, 1) << ended.output;
}

TEST_F(Launched, AReferenceIsComparedWithTheWhole) {
  const Words right{"check", "final-value", "products", "--cases", "60", "--against", "cpu"};
  for (const Ended& ended : run_in(2, right)) EXPECT_EQ(ended.status, 0) << ended.output;
  const Words wrong{"check", "final-value", "--cases", "200", "--against", "faulty:skip-last-rank"};
  const Ended one = run_alone(wrong);
  const auto all = run_in(2, wrong);
  EXPECT_EQ(all[0].status, one.status) << all[0].output << one.output;
  EXPECT_EQ(all[1].status, one.status);
  for (const Ended& ended : run_in(2, {"check", "--cases", "9", "--against", "cuda"}))
    EXPECT_EQ(ended.status, 2) << ended.output;
}

TEST_F(Launched, AKilledProcessEndsAllWithStatusThree) {
  keep_sound_scenario();
  Children children;
  start(children, 4, {"check", "--time", "300", "--comm-timeout", "10"});
  ASSERT_TRUE(children.wait_for_text(0, kAtWork));
  children.signal(1, SIGKILL);
  const auto all = children.wait_for_all();
  EXPECT_EQ(all[1].status, 128 + SIGKILL);
  for (const std::size_t process : {0, 2, 3}) {
    EXPECT_EQ(all[process].status, 3) << all[process].output;
    EXPECT_FALSE(all[process].was_late);
    EXPECT_TRUE(holds(all[process].output, "cluster: process 1 closed its connection while "))
        << all[process].output;
  }
}

TEST_F(Launched, AHangingProcessEndsAllWithinTheDeadline) {
  keep_sound_scenario();
  Children children;
  start(children, 2, {"check", "--time", "300", "--comm-timeout", "2"});
  ASSERT_TRUE(children.wait_for_text(0, kAtWork));
  children.signal(1, SIGSTOP);
  const Ended first = children.wait(0);
  EXPECT_EQ(first.status, 3);
  EXPECT_TRUE(holds(first.output, "within 2 s")) << first.output;
  children.signal(1, SIGCONT);
  EXPECT_EQ(children.wait(1).status, 3);
}

TEST_F(Launched, AnInterruptOfOneEndsAllTogether) {
  keep_sound_scenario();
  Children children;
  start(children, 2, {"check", "--time", "300"});
  ASSERT_TRUE(children.wait_for_text(0, kAtWork));
  children.signal(1, SIGINT);
  const auto all = children.wait_for_all();
  for (const Ended& ended : all) EXPECT_EQ(ended.status, 130) << ended.output;
  EXPECT_TRUE(holds(all[0].output, "interrupted")) << all[0].output;
}

TEST_F(Launched, TheTimeEndsAllTogether) {
  for (const Ended& ended : run_in(2, {"check", "legal-beta", "products", "--time", "1"}))
    EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST_F(Launched, OtherArgumentsAreNoticed) {
  Children children;
  const int port = test::free_port();
  for (const int process : {0, 1}) {
    const Words words{"check", "--cases", "100", "--seed", std::to_string(process)};
    children.start(Children::Program{command_with(words), variables_of(process, 2, port)});
  }
  const auto all = children.wait_for_all();
  for (const Ended& ended : all) EXPECT_EQ(ended.status, 3) << ended.output;
  EXPECT_TRUE(holds(all[0].output,
                    "process 1 was started as `shardcheck check --cases 100 --seed 1`, process 0 "
                    "as `shardcheck check --cases 100 --seed 0`"))
      << all[0].output;
}

TEST_F(Launched, OtherScenariosAreNoticed) {
  Children children;
  const int port = test::free_port();
  for (const int process : {0, 1}) {
    const std::string folder = std::to_string(process);
    write(folder + "/s.json",
          process == 0 ? sound_scenario() : replaced(sound_scenario(), "[2, 2]", "[2, 3]"));
    const Words words = joined({"/usr/bin/env", "-C", folder}, command_with({"replay", "s.json"}));
    children.start(Children::Program{words, variables_of(process, 2, port)});
  }
  const auto all = children.wait_for_all();
  for (const Ended& ended : all) EXPECT_EQ(ended.status, 3) << ended.output;
  EXPECT_TRUE(holds(all[0].output, "does something else")) << all[0].output;
}

TEST_F(Launched, AWrongFlagIsSaidOnce) {
  const auto all = run_in(3, {"check", "--casess", "3"});
  for (const Ended& ended : all) EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(holds(all[0].output, "--casess")) << all[0].output;
  EXPECT_EQ(all[1].output, "");
  EXPECT_EQ(all[2].output, "");
}

TEST_F(Launched, AWrongFileIsSaidOnce) {
  write("wrong.json", "{");
  for (const Words& words : {Words{"replay", "wrong.json"}, Words{"check", "--scenario", "wrong.json"}}) {
    const auto all = run_in(2, words);
    for (const Ended& ended : all) EXPECT_EQ(ended.status, 2) << ended.output;
    EXPECT_TRUE(holds(all[0].output, "wrong.json: ")) << all[0].output;
    EXPECT_EQ(all[1].output, "");
  }
}

TEST_F(Launched, AProcessThatNeverComesIsMissed) {
  Children children;
  children.start(Children::Program{command_with({"check", "--comm-timeout", "0.5"}),
                                   variables_of(0, 2, test::free_port())});
  const Ended ended = children.wait(0);
  EXPECT_EQ(ended.status, 3);
  EXPECT_TRUE(holds(ended.output, "process 1 did not connect")) << ended.output;
}

TEST_F(Launched, WhatNeedsOneProcessRunsInTheFirst) {
  const auto all = run_in(2, {"list", "backends"});
  EXPECT_EQ(all[0].status, 0);
  EXPECT_TRUE(holds(all[0].output, "cpu"));
  EXPECT_EQ(all[1].status, 0);
  EXPECT_EQ(all[1].output, "");
}

class LaunchedOnGpus : public Launched {
 protected:
  void SetUp() override {
    if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_F(LaunchedOnGpus, TwoAndFourProcessesHoldAgainstTheReference) {
  for (const int processes : {2, 4}) {
    const auto all = run_in(processes, {"check", "final-value", "reduce-once", "layout-bytes", "products",
                                        "--cases", "60", "--backend", "cuda", "--against", "cpu"});
    for (const Ended& ended : all) EXPECT_EQ(ended.status, 0) << ended.output;
  }
}

TEST_F(LaunchedOnGpus, AKilledProcessEndsAllWithStatusThree) {
  keep_sound_scenario();
  Children children;
  start(children, 2, {"check", "--backend", "cuda", "--time", "300", "--comm-timeout", "3"});
  ASSERT_TRUE(children.wait_for_text(0, kAtWork));
  children.signal(1, SIGKILL);
  const Ended first = children.wait(0);
  EXPECT_EQ(first.status, 3) << first.output;
  EXPECT_FALSE(first.was_late);
}

class UnderMpirun : public Launched {
 protected:
  void SetUp() override {
    if (!mpi_missing().empty()) GTEST_SKIP() << "MPI is " << mpi_missing();
    const Ended ended = run_under_mpirun(2, {"list", "backends"});
    if (ended.status != 0) GTEST_SKIP() << "mpirun cannot start two processes here: " << ended.output;
  }
};

TEST_F(UnderMpirun, TwoAndFourProcessesHold) {
  for (const int processes : {2, 4}) {
    const Ended all = run_under_mpirun(processes, {"check", "legal-beta", "layout-bytes", "--cases", "40"});
    EXPECT_EQ(all.status, 0) << all.output;
    EXPECT_TRUE(holds(all.output, fmt::format("cpu (ideal), {} processes", processes))) << all.output;
  }
}

TEST_F(UnderMpirun, ABrokenScenarioIsTold) {
  write("broken.json", broken_on_four_ranks());
  const Ended all = run_under_mpirun(2, {"replay", "broken.json"});
  EXPECT_EQ(all.status, 1) << all.output;
  EXPECT_TRUE(holds(all.output, "W4 Legal beta")) << all.output;
  EXPECT_TRUE(holds(all.output, "microbatch 1 of rank 3 (step 0, use 1) is missing")) << all.output;
}

}  // namespace
}  // namespace shardcheck
