// plan lists the ops of a rank and step, what a rank keeps, what a step takes, and the races.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class PlanVerb : public InFolder {
 protected:
  void SetUp() override {
    std::ofstream("s.json")
        << R"({"schema": 1, "owner": {"strategy": "megatron-fsdp-v1/optim_grads", "slots": 1},
      "parameters": [{"name": "a", "shape": [2, 12]}, {"name": "b", "shape": [2, 12], "unit": 1}],
      "uses": [{"parameter": "a"}, {"parameter": "b"}]})";
  }
};

TEST_F(PlanVerb, ListsOpsMemoryAndTime) {
  const CommandRun plan = run({"plan", "s.json", "--step", "1"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  for (const char* part :
       {"reduce-scatter (sum) over groups of 2", "slot.0[0:24)", "compute busy", "lease_slot", "0 races"})
    EXPECT_TRUE(holds(plan.out, part)) << part << "\n" << plan.out;
  EXPECT_FALSE(holds(plan.out, "allocate")) << "setup belongs to no step";
  EXPECT_TRUE(holds(run({"plan", "s.json", "--all"}).out, "allocate"));
  EXPECT_FALSE(holds(run({"plan", "s.json", "--summary"}).out, "reduce-scatter"));
}

TEST_F(PlanVerb, MemoryOfTheHostIsALineOfItsOwn) {
  const std::string rest = R"("parameters": [{"name": "a", "shape": [64, 64]}],
      "uses": [{"parameter": "a", "producer": "unfused"}]})";
  std::ofstream("d.json") << R"({"schema": 1, "owner": {"strategy": "fsdp2"},)" << rest;
  std::ofstream("h.json") << R"({"schema": 1, "owner": {"strategy": "fsdp2", "offload": true},)" << rest;
  const std::string device = run({"plan", "d.json", "--summary"}).out;
  EXPECT_FALSE(holds(device, "in memory of the host")) << device;
  EXPECT_TRUE(holds(device, "master")) << device;
  const std::string host = run({"plan", "h.json", "--summary"}).out;
  EXPECT_TRUE(holds(host, "in memory of the host        2  16.0 KiB"))
      << host << "half of 4,096 in fp32, twice";
  EXPECT_FALSE(holds(host, "master ")) << host;
}

TEST_F(PlanVerb, ARaceIsNamedAndBreaks) {
  const std::string text = content_of("s.json");
  std::ofstream("r.json") << text.substr(0, text.rfind('}')) << R"(, "fault": "B-28"})";
  const CommandRun plan = run({"plan", "r.json", "--summary", "--timeline", "t.json"});
  EXPECT_EQ(plan.status, 1) << plan.err;
  EXPECT_TRUE(holds(plan.out, "nothing orders them"));
  const auto trace = nlohmann::json::parse(content_of("t.json"));
  EXPECT_GT(trace["traceEvents"].size(), 50u);
}

TEST_F(PlanVerb, NamesWhatIsNotThere) {
  EXPECT_TRUE(holds(run({"plan", "s.json", "--rank", "2"}).err, "ranks 0 to 1"));
  EXPECT_TRUE(holds(run({"plan", "s.json", "--step", "2"}).err, "steps 0 to 1"));
  EXPECT_EQ(run({"plan", "absent.json"}).status, 2);
}

}  // namespace
}  // namespace shardcheck
