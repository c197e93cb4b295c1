// replay, and every kind of scenario file that is none.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class Replay : public InFolder {
 protected:
  static void expect_refused(const std::string& text, const std::string& part) {
    const CommandRun replay = run({"replay", write("s.json", text)});
    EXPECT_EQ(replay.status, 2) << replay.out;
    EXPECT_TRUE(replay.out.empty()) << replay.out;
    EXPECT_TRUE(replay.err.starts_with("shardcheck: s.json")) << replay.err.substr(0, 300);
    EXPECT_TRUE(holds(replay.err, part)) << replay.err.substr(0, 300);
    EXPECT_EQ(std::count(replay.err.begin(), replay.err.end(), '\n'), 1);
  }
};

TEST_F(Replay, SaysWhatIsBrokenAndWhatHolds) {
  const CommandRun broken = run({"replay", write("broken.json", broken_scenario())});
  EXPECT_EQ(broken.status, 1) << broken.err;
  for (const char* part : {"W4 Legal beta", "history", "shardcheck explain broken.json", "BROKEN: "})
    EXPECT_TRUE(holds(broken.out, part)) << part << " in\n" << broken.out;
  const CommandRun sound = run({"replay", write("sound.json", sound_scenario())});
  EXPECT_EQ(sound.status, 0) << sound.out;
  EXPECT_TRUE(holds(sound.out, "held: ")) << sound.out;
}

TEST_F(Replay, ANumericFaultShowsOnItsBackend) {
  write("sound.json", sound_scenario());
  EXPECT_EQ(run({"replay", "sound.json", "--backend", "faulty:scale-twice"}).status, 1);
}

TEST_F(Replay, TheShadowNamesTheFirstOpThatDiffers) {
  write("sound.json", sound_scenario());
  const CommandRun broken = run({"replay", "sound.json", "--shadow", "--backend", "faulty:scale-twice"});
  EXPECT_EQ(broken.status, 1) << broken.out << broken.err;
  for (const char* part :
       {"differs: scale by", "ulp", "elements written", "ops compared", "BROKEN: sound.json"})
    EXPECT_TRUE(holds(broken.out, part)) << part << " in\n" << broken.out;
  const CommandRun same = run({"replay", "sound.json", "--shadow"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  EXPECT_TRUE(holds(same.out, "held: sound.json on cpu against cpu")) << same.out;
  write("fault.json", "{\"kind\": \"layout\", \"fault\": \"B9\"}");
  const CommandRun refused = run({"replay", "fault.json", "--shadow"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(holds(refused.err, "is a layout, which is no list of ops")) << refused.err;
}

TEST_F(Replay, FilesThatAreNoScenarioAreSentences) {
  const std::string good = broken_scenario();
  expect_refused("", "");
  expect_refused(std::string("\x7f"
                             "ELF\0\1\2",
                             7),
                 "");
  expect_refused(std::string(1'000'000, '['), "");
  expect_refused(replaced(good, "[2, 2]", "\"2, 2\""), "shape");
  expect_refused(replaced(good, "[2, 2]", "[-2, 2]"), "-2");
  expect_refused(replaced(good, "[2, 2]", "[4611686018427387904, 4]"), "shape");
  expect_refused(replaced(good, "\"schema\": 1", "\"schema\": 1, \"colour\": 2"), "colour");
  expect_refused(
      replaced(good, "\"schema\": 1", "\"schema\": 1, \"mesh\": {\"ranks\": 3, \"expert_parallel\": 2}"),
      "mesh");
  expect_refused(replaced(good, "\"schema\": 1", "\"schema\": 1, \"fault\": \"B-2\""),
                 "did you mean \"B-02\"");
}

TEST_F(Replay, AScheduleMakesARaceHappen) {
  std::ofstream("race.json")
      << R"({"schema": 1, "owner": {"strategy": "megatron-fsdp-v1/optim_grads", "slots": 1},
    "parameters": [{"name": "a", "shape": [2, 12]}, {"name": "b", "shape": [2, 12], "unit": 1}],
    "uses": [{"parameter": "a"}, {"parameter": "b"}], "fault": "B-28"})";
  const CommandRun replay = run({"replay", "race.json", "--schedule"});
  EXPECT_EQ(replay.status, 1) << replay.err;
  for (const char* part :
       {"W33", "must wait for", "(edge E2)", "come after op", "is right,", "with a wrong value"})
    EXPECT_TRUE(holds(replay.out, part)) << part << "\n" << replay.out;
  EXPECT_EQ(run({"replay", "race.json", "--schedule", "--backend", "shadow"}).status, 2);
  EXPECT_EQ(run({"replay", "race.json", "--schedule", "--tries", "3"}).status, 2)
      << "the CPU's answer is certain";
}

TEST_F(Replay, EveryClassOfSchedulesIsRun) {
  const std::string begin = R"({"schema": 1, "schedule": {"steps": 1, "microbatches": 1},
    "owner": {"strategy": "megatron-fsdp-v1/optim_grads", "slots": 1},
    "parameters": [{"name": "a", "shape": [2, 12]}, {"name": "b", "shape": [2, 12], "unit": 1}],
    "uses": [{"parameter": "a"}, {"parameter": "b"}])";
  std::ofstream("race.json") << begin << R"(, "fault": "B-28"})";
  std::ofstream("right.json") << begin << "}";
  const CommandRun explored = run({"replay", "race.json", "--explore", "10000"});
  EXPECT_EQ(explored.status, 1) << explored.err;
  for (const char* part :
       {"as planned: ", " classes of schedules covered, all there are", "wrong", "op ", "before"})
    EXPECT_TRUE(holds(explored.out, part)) << part << "\n" << explored.out;
  const CommandRun bounded = run({"replay", "race.json", "--explore", "2"});
  EXPECT_TRUE(holds(bounded.out, "2 classes of schedules covered, those closest")) << bounded.out;
  const CommandRun right = run({"replay", "right.json", "--explore", "100"});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_TRUE(holds(right.out, "1 class of schedules covered, all there are")) << right.out;
  EXPECT_EQ(run({"replay", "race.json", "--explore", "2", "--schedule"}).status, 2);
  EXPECT_EQ(run({"replay", "race.json", "--explore", "2", "--shadow"}).status, 2);
}

TEST_F(Replay, AFileThatIsMissingOrAFolder) {
  EXPECT_EQ(run({"replay", "absent.json"}).status, 2);
  EXPECT_EQ(run({"replay", "."}).status, 2);
  EXPECT_EQ(run({"replay"}).status, 2);
  EXPECT_EQ(run({"replay", "a", "b"}).status, 2);
}

}  // namespace
}  // namespace shardcheck
