// replay --schedule --backend cuda: a table of races on a machine with a GPU, a sentence on one without.
#include "backends/cuda/cuda_backend.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class DelayedRaces : public InFolder {
 protected:
  static void write_case(const std::string& file, const std::string& fault) {
    std::ofstream(file) << R"({"schema": 1, "owner": {"strategy": "megatron-fsdp-v1/optim_grads", "slots": 1},
    "parameters": [{"name": "a", "shape": [2, 12]}, {"name": "b", "shape": [2, 12], "unit": 1}],
    "uses": [{"parameter": "a"}, {"parameter": "b"}], "fault": ")"
                        << fault << "\"}";
  }
};

TEST_F(DelayedRaces, AreCountedWhereThereIsAGpu) {
  write_case("race.json", "B-28");
  const CommandRun replay = run({"replay", "race.json", "--schedule", "--backend", "cuda", "--tries", "2"});
  if (!cuda_missing().empty()) {
    EXPECT_EQ(replay.status, 3) << replay.out << replay.err;
    EXPECT_TRUE(holds(replay.err, cuda_missing())) << replay.err;
    return;
  }
  EXPECT_EQ(replay.status, 1) << replay.err;
  for (const char* part : {"W33", "us late:", "of 2 runs", "no delay", "with a wrong value on cpu"})
    EXPECT_TRUE(holds(replay.out, part)) << part << "\n" << replay.out;
}

TEST_F(DelayedRaces, AreOfOneBackendAlone) {
  write_case("race.json", "B-28");
  const CommandRun both =
      run({"replay", "race.json", "--schedule", "--backend", "cuda", "--against", "cpu", "--tries", "2"});
  EXPECT_EQ(both.status, 2) << both.out << both.err;
}

}  // namespace
}  // namespace shardcheck
