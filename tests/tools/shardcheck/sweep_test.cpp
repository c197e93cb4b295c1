// sweep prints the matrix of a scenario with a fault, says what decides, and refuses what it cannot vary.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class Sweep : public InFolder {
 protected:
  /// Alias doubling shows only in a reduction group of one, from the second microbatch on.
  void SetUp() override {
    std::ofstream("s.json") << R"({"schema": 1, "owner": {"strategy": "megatron-fsdp-v1/optim_grads"},
      "mesh": {"ranks": 2, "expert_parallel": 2}, "schedule": {"steps": 1, "microbatches": 2, "tokens": 1},
      "parameters": [{"name": "w", "shape": [2, 12], "expert": true}],
      "uses": [{"parameter": "w"}], "fault": "B-34"})";
  }
};

TEST_F(Sweep, AMatrixAndWhatDecides) {
  const CommandRun sweep = run({"sweep", "s.json", "--vary", "expert_parallel=1,2", "--vary",
                                "microbatches=1..3", "--json", "r.json"});
  EXPECT_EQ(sweep.status, 1) << sweep.err;
  EXPECT_TRUE(holds(sweep.out, "to the right: microbatches")) << sweep.out;
  EXPECT_TRUE(holds(sweep.out, "microbatches flips the result: ")) << sweep.out;
  const auto json = nlohmann::json::parse(content_of("r.json"));
  ASSERT_EQ(json["settings"].size(), 6u);
  EXPECT_EQ(json["settings"][5]["setting"]["microbatches"], 3);
  EXPECT_EQ(json["settings"][5]["result"], "broken");
  EXPECT_EQ(json["settings"][5]["clauses"][0], "W26");
  EXPECT_EQ(json["settings"][3]["result"], "no fault");  // one microbatch has nothing to double
}

TEST_F(Sweep, ASettingThatIsNoScenarioIsShownAndExplained) {
  const CommandRun sweep = run({"sweep", "s.json", "--vary", "expert_parallel=2,3"});
  EXPECT_TRUE(holds(sweep.out, "expert_parallel = 3")) << sweep.out;
}

TEST_F(Sweep, NamesWhatItCannotVary) {
  EXPECT_EQ(run({"sweep", "s.json"}).status, 2);
  const CommandRun unknown = run({"sweep", "s.json", "--vary", "rank=1..2"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(holds(unknown.err, "ranks")) << unknown.err;
  EXPECT_TRUE(holds(run({"sweep", "s.json", "--vary", "ranks=all"}).err, "give a range")) << unknown.err;
  EXPECT_TRUE(holds(run({"sweep", "s.json", "--vary", "ranks=4..1"}).err, "LOW..HIGH"));
  EXPECT_TRUE(holds(run({"sweep", "s.json", "--vary", "ranks=1", "--vary", "mesh.ranks=2"}).err, "twice"));
}

}  // namespace
}  // namespace shardcheck
