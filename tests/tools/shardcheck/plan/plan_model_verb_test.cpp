// plan --model prints ops, roles, memory, time and checks, says them as JSON, and refuses in one sentence.
#include "tools/shardcheck/plan/plan_model_verb.h"

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class PlanModelVerb : public InFolder {};

TEST_F(PlanModelVerb, PrintsAStepOfARankAndWhatWasChecked) {
  const CommandRun plan =
      run({"plan", "--model", "llama3-405b", "--strategy", "megatron-fsdp-v1/optim_grads_params", "--mesh",
           "dp=16384", "--microbatches", "2"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  for (const char* part : {"reduce-scatter", "layers 0-125", "16,384", "gradient shard", "0 and 8,192",
                           "16,383", "nothing overlapped", "ZeRO-3 of shard-layouts 5", "5 us, 50 GB/s"})
    EXPECT_TRUE(holds(plan.out, part)) << part << "\n" << plan.out;
  EXPECT_FALSE(holds(plan.out, "DIFFERS"));
}

TEST_F(PlanModelVerb, ComparesAllWithoutAStrategyAndSaysWhatItLeavesOut) {
  const CommandRun all = run({"plan", "--model=llama3-8b", "--mesh", "replicate=2,dp=8"});
  EXPECT_EQ(all.status, 0) << all.err;
  for (const char* part : {"megatron-ddp", "HSDP", "not planned", "make it"})
    EXPECT_TRUE(holds(all.out, part)) << part << "\n" << all.out;
}

TEST_F(PlanModelVerb, WritesJson) {
  const CommandRun run_json = run({"plan", "--model", "llama3-8b", "--strategy", "megatron-ddp-zero1",
                                   "--mesh", "dp=64", "--json", "-", "--outer-gbs", "25"});
  ASSERT_EQ(run_json.status, 0) << run_json.err;
  const auto json = nlohmann::json::parse(run_json.out);
  EXPECT_EQ(json["closed_form"]["strategy"], "ZeRO-1");
  EXPECT_EQ(json["network"]["outer"]["bytes_per_second"], 25e9);
  EXPECT_EQ(json["closed_form"]["bytes_kept"], json["roles"][0]["memory"]["kept"]);
  double sent = 0;
  for (const auto& row : json["rows"]) sent += row["bytes_sent"].get<double>();
  EXPECT_EQ(sent, json["roles"][0]["bytes_sent"].get<double>());
  const auto all =
      nlohmann::json::parse(run({"plan", "--model", "llama3-8b", "--mesh", "dp=8", "--json", "-"}).out);
  EXPECT_EQ(all["strategies"].size(), 11u);
}

TEST_F(PlanModelVerb, RefusesInOneSentence) {
  const auto refused = [](const Arguments& arguments, const char* part) {
    const CommandRun plan = run(arguments);
    EXPECT_EQ(plan.status, 2);
    EXPECT_TRUE(holds(plan.err, part)) << plan.err;
  };
  refused({"plan", "--model", "llama3-8b"}, "how many ranks");
  refused({"plan", "--model", "llama3-8", "--mesh", "dp=8"}, "llama3-8b");
  refused({"plan", "--model", "llama3-8b", "--mesh", "dp=8", "--strategy", "fsdp"}, "fsdp2");
  refused({"plan", "--model", "llama3-8b", "--mesh", "dp=8,pp=2"}, "pipeline");
  refused({"plan", "--model"}, "--model");
  EXPECT_TRUE(holds(run({"plan", "--help", "--model", "x"}).out, "--no-reshard"));
}

}  // namespace
}  // namespace shardcheck
