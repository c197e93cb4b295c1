// zoo: a fault is caught, saved, shown; one that cannot be is said to have escaped.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using Zoo = InFolder;
using nlohmann::json;

TEST_F(Zoo, AFaultIsCaughtAndItsSmallestScenarioReplays) {
  const CommandRun zoo = run({"zoo", "B-04", "--save", "found", "--json", "z.json"});
  EXPECT_EQ(zoo.status, 0) << zoo.out << zoo.err;
  EXPECT_TRUE(holds(zoo.out, "caught: 1 of 1 fault caught")) << zoo.out;
  const json fault = json::parse(content_of("z.json"))["faults"][0];
  EXPECT_EQ(fault["id"], "B-04");
  EXPECT_EQ(fault["caught"], true);
  EXPECT_EQ(fault["caught_by"], "first-touch");
  for (const char* field : {"source", "clause", "cases"}) EXPECT_TRUE(fault.contains(field)) << field;
  for (const char* field : {"ranks", "parameters", "microbatches", "steps"})
    EXPECT_TRUE(fault["smallest"].contains(field)) << field;
  const CommandRun replay = run({"replay", "found/B-04.json"});
  EXPECT_EQ(replay.status, 1) << replay.out;
  EXPECT_TRUE(holds(replay.out, "W5")) << replay.out;
}

TEST_F(Zoo, AFaultOfQuantisationIsCaughtOnItsOwnCase) {
  const CommandRun zoo = run({"zoo", "quantisation/Q28", "--save", "found"});
  EXPECT_EQ(zoo.status, 0) << zoo.out << zoo.err;
  EXPECT_TRUE(holds(zoo.out, "sharded-quantisation")) << zoo.out;
  const CommandRun replay = run({"replay", "found/quantisation-Q28.json"});
  EXPECT_EQ(replay.status, 1) << replay.out;
  EXPECT_TRUE(holds(replay.out, "F41")) << replay.out;
}

TEST_F(Zoo, AnUnknownFaultNamesTheNearest) {
  const CommandRun zoo = run({"zoo", "B-4"});
  EXPECT_EQ(zoo.status, 2);
  EXPECT_TRUE(holds(zoo.err, "\"B-04\"")) << zoo.err;
}

TEST_F(Zoo, AnInterruptIsNoEscape) {
  interrupt_flag() = true;
  EXPECT_EQ(run({"zoo", "B-04"}).status, 130);
}

TEST_F(Zoo, AFolderThatCannotBeMadeIsTheMachinesFault) {
  write("file", "");
  EXPECT_EQ(run({"zoo", "B-04", "--save", "file/folder"}).status, 3);
}

}  // namespace
}  // namespace shardcheck
