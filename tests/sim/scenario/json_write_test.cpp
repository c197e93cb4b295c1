// to_json, and that reading undoes it.
#include <gtest/gtest.h>

#include <string>

#include "sim/scenario/json.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using tests::small_scenario;
using tests::unusual_scenario;

TEST(JsonWrite, ASmallScenarioIsSmall) {
  EXPECT_EQ(to_json(small_scenario()), R"({
  "schema": 1,
  "owner": {"strategy": "megatron-ddp"},
  "protocol": {"write_mode": "R5"},
  "mesh": {"ranks": 2},
  "schedule": {"steps": 1, "microbatches": 2, "tokens": 1},
  "numerics": {"loss": "mean", "data": "provenance"},
  "parameters": [{"name": "w0", "shape": [2, 2], "dtype": "bf16"}],
  "uses": [{"parameter": "w0", "producer": "fused"}]
}
)");
}

TEST(JsonWrite, LongListsTakeALineAnElement) {
  Scenario s = small_scenario();
  s.uses.resize(3);
  EXPECT_NE(to_json(s).find(R"(
  "uses": [
    {"parameter": "w0", "producer": "fused"},
    {"parameter": "w0", "producer": "fused"},
    {"parameter": "w0", "producer": "fused"}
  ]
)"),
            std::string::npos);
}

TEST(JsonWrite, ReadingUndoesWriting) {
  for (const Scenario& s : {small_scenario(), unusual_scenario()}) {
    const std::string text = to_json(s);
    EXPECT_EQ(scenario_from_json(text, "f.json"), s) << text;
    EXPECT_EQ(to_json(scenario_from_json(text, "f.json")), text);
  }
}

TEST(JsonWrite, ReadingUndoesWritingOfEveryEnumerator) {
  Scenario s = small_scenario();
  s.data = DataMode::integers;
  const auto expect_round_trip = [&] {
    EXPECT_EQ(scenario_from_json(to_json(s), "f.json"), s) << to_json(s);
  };
  for (int i = 0; i < kStrategies; ++i) {
    s.strategy = static_cast<Strategy>(i);
    s.write_mode = is_unfused_only(s.strategy) ? WriteMode::r7 : WriteMode::r5;
    expect_round_trip();
  }
  s.strategy = Strategy::fsdp2;
  s.ranks = 4;
  s.outer = 2;
  for (const Sync sync : {Sync::every, Sync::last}) {
    s.sync = s.outer_sync = sync;
    expect_round_trip();
  }
  s.outer = 1;
  s.sync = Sync::every;
  s.outer_sync = Sync::last;
  s.fp8.emplace();
  s.fp8->recipe = "te-current";
  for (const Reshard reshard : {Reshard::after_forward, Reshard::after_backward, Reshard::after_step}) {
    s.reshard = reshard;
    expect_round_trip();
  }
  s.offload = true;
  expect_round_trip();
  s = small_scenario();
  s.data = DataMode::integers;
  s.strategy = Strategy::fsdp_optim_grads;
  s.outer = 2;
  for (const OuterMode mode : {OuterMode::replicate, OuterMode::shard}) {
    s.outer_mode = mode;
    expect_round_trip();
  }
  s = small_scenario();
  s.data = DataMode::integers;
  for (int i = 0; i < kWriteModes; ++i) {
    s.write_mode = static_cast<WriteMode>(i);
    expect_round_trip();
  }
  s.write_mode = WriteMode::te_module;
  for (int i = 0; i < 3; ++i) {
    s.first_microbatch = static_cast<FirstMicrobatch>(i);
    s.execution = static_cast<Execution>(i);
    s.scaling = static_cast<Scaling>(i);
    s.uses[0].producer = i == 1 ? Producer::fused : static_cast<Producer>(i);
    if (i == 2) s.uses.push_back({.parameter = 0, .producer = Producer::fused});
    s.main_grad = s.comm = s.parameters[0].dtype = static_cast<DType>(i);
    expect_round_trip();
  }
}

TEST(JsonWrite, ExpertsComeBack) {
  Scenario s = small_scenario();
  s.data = DataMode::integers;
  s.parameters = {{.name = "w0", .shape = {4, 2}, .groups = 2}, {.name = "w1", .shape = {4, 2}, .groups = 2}};
  s.uses = {{.parameter = 0}, {.parameter = 1, .grouped = true}};
  s.token_counts = {{.rank = 1, .microbatch = 0, .tokens = 0, .parameter = 1},
                    {.rank = 0, .microbatch = 1, .tokens = 3, .parameter = 0, .group = 1}};
  const std::string text = to_json(s);
  EXPECT_EQ(scenario_from_json(text, "f.json"), s);
  for (const char* part : {R"("groups": 2)", R"("grouped": true)", R"({"parameter": "w1", "rank": 1,)",
                           R"({"parameter": "w0", "group": 1, "rank": 0,)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST(JsonWrite, TheUnusualScenarioLeavesNoDefault) {
  const std::string text = to_json(unusual_scenario());
  for (const char* field : {"schema",
                            "name",
                            "seed",
                            "owner",
                            "strategy",
                            "bucket_size",
                            "overlap",
                            "slots",
                            "zeroing",
                            "protocol",
                            "write_mode",
                            "mesh",
                            "first_microbatch",
                            "execution",
                            "ranks",
                            "expert_parallel",
                            "schedule",
                            "steps",
                            "tokens",
                            "microbatches",
                            "token_counts",
                            "silent",
                            "numerics",
                            "loss",
                            "scaling",
                            "main_grad",
                            "comm",
                            "data",
                            "parameters",
                            "shape",
                            "dtype",
                            "trainable",
                            "expert",
                            "unit",
                            "uses",
                            "producer",
                            "parameter",
                            "rank",
                            "microbatch",
                            "step",
                            "fp8",
                            "recipe",
                            "history",
                            "masters",
                            "transposes",
                            "recompute",
                            "skipped_steps",
                            "evaluations",
                            "reload_after",
                            "fault"})
    EXPECT_NE(text.find('"' + std::string(field) + "\": "), std::string::npos) << field;
}

}  // namespace
}  // namespace shardcheck
