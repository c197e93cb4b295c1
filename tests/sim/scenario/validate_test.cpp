#include "sim/scenario/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using tests::small_scenario;

std::string sentence(const Scenario& s) {
  return tests::sentence_of([&] { validate(s, "f.json"); });
}

using Change = std::function<void(Scenario&)>;

/// The small scenario, changed, is refused with "f.json: " and the sentence; an empty one stands for valid.
void expect_sentence(const Change& change, const std::string& said) {
  Scenario s = small_scenario();
  change(s);
  EXPECT_EQ(sentence(s), said.empty() ? "" : "f.json: " + said);
}

TEST(Validate, ValidScenarios) {
  EXPECT_EQ(sentence(small_scenario()), "");
  EXPECT_EQ(sentence(tests::unusual_scenario()), "");
}

TEST(Validate, Ranges) {
  const auto refuses = [](const Change& change, const std::string& path) {
    Scenario s = small_scenario();
    change(s);
    EXPECT_EQ(sentence(s).find("f.json: " + path + ": "), 0u) << path << " | " << sentence(s);
    EXPECT_NE(sentence(s).find(" is out of range; give "), std::string::npos);
  };
  refuses([](Scenario& s) { s.ranks = 0; }, "mesh.ranks");
  refuses([](Scenario& s) { s.ranks = 1025; }, "mesh.ranks");
  refuses([](Scenario& s) { s.expert_parallel = 0; }, "mesh.expert_parallel");
  refuses([](Scenario& s) { s.steps = 0; }, "schedule.steps");
  refuses([](Scenario& s) { s.steps = 65; }, "schedule.steps");
  refuses([](Scenario& s) { s.microbatches = 0; }, "schedule.microbatches");
  refuses([](Scenario& s) { s.microbatches = 65; }, "schedule.microbatches");
  refuses([](Scenario& s) { s.tokens = -1; }, "schedule.tokens");
  refuses([](Scenario& s) { s.tokens = 65537; }, "schedule.tokens");
  refuses([](Scenario& s) { s.slots = 0; }, "owner.slots");
  refuses([](Scenario& s) { s.slots = 65; }, "owner.slots");
  refuses([](Scenario& s) { s.bucket_size = -1; }, "owner.bucket_size");
  refuses([](Scenario& s) { s.parameters[0].unit = -1; }, "parameters[0].unit");
  refuses([](Scenario& s) { s.uses[0].unit = -2; }, "uses[0].unit");
  refuses([](Scenario& s) { s.parameters[0].shape[1] = -1; }, "parameters[0].shape[1]");
  refuses([](Scenario& s) { s.token_counts = {{.tokens = -1}}; }, "schedule.token_counts[0].tokens");
}

TEST(Validate, SeveralExpertsInOneWeight) {
  expect_sentence([](Scenario& s) { s.parameters[0] = {.name = "w0", .shape = {4, 8}, .groups = 2}; }, "");
  expect_sentence([](Scenario& s) { s.parameters[0].groups = 0; },
                  "parameters[0].groups: 0 is out of range; give 1 to 1024");
  expect_sentence(
      [](Scenario& s) { s.parameters[0].groups = 3; },
      "parameters[0].groups: 3 matrices of equal rows do not make up 2x2; give 2 sizes, the first "
      "a multiple of the groups");
  expect_sentence(
      [](Scenario& s) {
        s.parameters[0].groups = 2;
        s.fp8 = Fp8Training{.recipe = "te-delayed"};
      },
      "parameters[0].groups: 2 experts in one FP8 weight are not modelled; give a parameter each");
}

/// Two stages; the second has a copy of the first parameter.
void tie(Scenario& s) {
  s.stages = 2;
  s.parameters.push_back({.name = "head", .shape = {2, 2}, .stage = 1, .tied_to = 0});
  s.uses.push_back({.parameter = 1});
}

TEST(Validate, PipelineStages) {
  expect_sentence(tie, "");
  expect_sentence(
      [](Scenario& s) { s.stages = 1024; },
      "mesh.stages: 1024 stages of 1 tensor-parallel ranks of 2 ranks are more than 1024 ranks; use fewer");
  expect_sentence(
      [](Scenario& s) {
        s.stages = 2;
        s.fp8 = Fp8Training{.recipe = "te-mxfp8"};
      },
      "mesh.stages: 2 pipeline stages with FP8 weights are not modelled; use 1 stage");
  expect_sentence([](Scenario& s) { s.parameters[0].stage = 1; },
                  "parameters[0].stage: 1 is out of range; the scenario has the stages 0 to 0");
  expect_sentence([](Scenario& s) { s.clip = 5; }, "numerics.clip: 5 is out of range; give 0 to 4");
}

TEST(Validate, CopiesOfAWeight) {
  const auto refuses = [](const Change& change, const std::string& said) {
    expect_sentence(
        [&](Scenario& s) {
          tie(s);
          change(s);
        },
        said);
  };
  refuses([](Scenario& s) { s.parameters[1].stage = 0; },
          "parameters[1].tied_to: \"w0\" is on stage 0 too; two uses of one parameter tie it there");
  refuses([](Scenario& s) { s.parameters[1].dtype = DType::f16; },
          "parameters[1].tied_to: \"w0\" has another shape, dtype, trainable, thaws_at or groups; a copy has "
          "the same");
  refuses([](Scenario& s) { s.parameters[0].expert = true; },
          "parameters[1].tied_to: an expert's weight has no copy on another stage; leave it out");
  refuses(
      [](Scenario& s) {
        s.parameters.push_back({.name = "third", .shape = {2, 2}, .stage = 1, .tied_to = 0});
      },
      "parameters[2].tied_to: \"w0\" is one of two copies already; a weight has at most two");
  refuses(
      [](Scenario& s) {
        s.strategy = Strategy::deepspeed_1;
        s.uses[0].producer = s.uses[1].producer = Producer::unfused;
      },
      "parameters[1].tied_to: the strategy deepspeed-1 has no sum over the copies of two stages; use "
      "megatron-ddp, megatron-fsdp-v1 or fsdp2");
}

TEST(Validate, CopiesOnTensorParallelRanks) {
  const auto with = [](const Change& change) {
    return [change](Scenario& s) {
      s.tensor = 2;
      s.parameters[0].sequence_parallel = true;
      change(s);
    };
  };
  expect_sentence(with([](Scenario&) {}), "");
  expect_sentence(with([](Scenario& s) { s.tensor = 0; }), "mesh.tensor: 0 is out of range; give 1 to 1024");
  expect_sentence(with([](Scenario& s) { s.fp8 = Fp8Training{.recipe = "te-mxfp8"}; }),
                  "mesh.tensor: 2 tensor-parallel ranks with FP8 weights are not modelled; use 1");
  expect_sentence(
      with([](Scenario& s) { s.tensor = 1; }),
      "parameters[0].sequence_parallel: there is 1 tensor-parallel rank; set mesh.tensor, or leave "
      "it out");
  expect_sentence(with([](Scenario& s) { s.parameters[0].expert = true; }),
                  "parameters[0].sequence_parallel: an expert's parameter is cut over tensor-parallel ranks; "
                  "leave it out");
  expect_sentence(with(tie),
                  "parameters[0].sequence_parallel: a weight with a copy on another stage is cut over "
                  "tensor-parallel ranks; leave it out");
  expect_sentence(with([](Scenario& s) {
                    s.strategy = Strategy::deepspeed_1;
                    s.uses[0].producer = Producer::unfused;
                  }),
                  "parameters[0].sequence_parallel: the strategy deepspeed-1 has no sum over tensor-parallel "
                  "ranks; use megatron-ddp, megatron-fsdp-v1 or fsdp2");
}

TEST(Validate, AnAssignedGradientIsTheOnlyOne) {
  expect_sentence([](Scenario& s) { s.uses[0].producer = Producer::assigned; }, "");
  expect_sentence(
      [](Scenario& s) {
        s.uses = {{.producer = Producer::assigned}, {.producer = Producer::unfused}};
      },
      "uses[0].producer: \"assigned\" replaces what autograd summed for \"w0\", which has other uses; use "
      "\"unfused\", or leave the others out");
}

TEST(Validate, TheEndsOfTheRangesAreValid) {
  expect_sentence(
      [](Scenario& s) {
        s.ranks = s.expert_parallel = 1024;
        s.steps = s.microbatches = s.slots = 64;
        s.tokens = 65536;
        s.data = DataMode::integers;
      },
      "");
  expect_sentence([](Scenario& s) { s.ranks = s.microbatches = 1, s.tokens = 0; }, "");
}

TEST(Validate, ExpertParallelDividesTheRanks) {
  expect_sentence([](Scenario& s) { s.ranks = 4, s.expert_parallel = 3; },
                  "mesh: 4 ranks are not divisible by expert_parallel 3");
  expect_sentence([](Scenario& s) { s.expert_parallel = 4; },
                  "mesh: 2 ranks are not divisible by expert_parallel 4");
}

TEST(Validate, Indices) {
  expect_sentence([](Scenario& s) { s.uses[0].parameter = 1; },
                  "uses[0].parameter: 1 is out of range; the scenario has the parameters 0 to 0");
  expect_sentence([](Scenario& s) { s.uses[0].parameter = -1; },
                  "uses[0].parameter: -1 is out of range; the scenario has the parameters 0 to 0");
  expect_sentence([](Scenario& s) { s.silent = {{.parameter = 3}}; },
                  "schedule.silent[0].parameter: 3 is out of range; the scenario has the parameters 0 to 0");
  expect_sentence(
      [](Scenario& s) { s.silent = {{.step = 1}}; },
      "schedule.silent[0].step: 1 is out of range; the scenario has the steps 0 to 0, and -1 stands for all");
  expect_sentence([](Scenario& s) { s.silent = {{.rank = -2}}; },
                  "schedule.silent[0].rank: -2 is out of range; the scenario has the ranks 0 to 1, and -1 "
                  "stands for all");
  expect_sentence(
      [](Scenario& s) { s.silent = {{.microbatch = 2}}; },
      "schedule.silent[0].microbatch: 2 is out of range; the scenario has the microbatches 0 to 1, "
      "and -1 stands for all");
  expect_sentence([](Scenario& s) { s.token_counts = {{.rank = 2}}; },
                  "schedule.token_counts[0].rank: 2 is out of range; the scenario has the ranks 0 to 1");
  expect_sentence(
      [](Scenario& s) { s.token_counts = {{.microbatch = -1}}; },
      "schedule.token_counts[0].microbatch: -1 is out of range; the scenario has the microbatches 0 "
      "to 1");
  expect_sentence(
      [](Scenario& s) {
        s.token_counts = {{.tokens = 1}, {.tokens = 2}};
      },
      "schedule.token_counts[1]: rank 0, microbatch 0 has a count already; give one");
  expect_sentence([](Scenario& s) { s.token_counts = {{.tokens = 1}, {.tokens = 2, .parameter = 0}}; }, "");
  expect_sentence(
      [](Scenario& s) { s.token_counts = {{.parameter = 1}}; },
      "schedule.token_counts[0].parameter: 1 is out of range; the scenario has the parameters 0 to "
      "0, and -1 stands for all");
  expect_sentence([](Scenario& s) { s.token_counts = {{.group = 0}}; },
                  "schedule.token_counts[0].group: 0 is a group of no parameter; give \"parameter\" too");
  expect_sentence([](Scenario& s) { s.token_counts = {{.parameter = 0, .group = 1}}; },
                  "schedule.token_counts[0].group: 1 is out of range; the scenario has the groups of that "
                  "parameter 0 to 0, and -1 stands for all");
}

TEST(Validate, Shapes) {
  expect_sentence([](Scenario& s) { s.parameters[0].shape = {}; },
                  "parameters[0].shape: a shape of 0 sizes; give 1 (bias, norm) or 2 (rows, columns)");
  expect_sentence(
      [](Scenario& s) {
        s.parameters[0].shape = {1, 1, 1};
      },
      "parameters[0].shape: a shape of 3 sizes; give 1 (bias, norm) or 2 (rows, columns)");
  expect_sentence(
      [](Scenario& s) {
        s.parameters[0].shape = {std::int64_t{1} << 32, std::int64_t{1} << 31};
      },
      "parameters[0].shape: the elements of 4294967296x2147483648 do not fit 64 bits; use smaller "
      "sizes");
  expect_sentence(
      [](Scenario& s) {
        s.strategy = Strategy::fsdp_optim;
        s.parameters[0].shape = {3, 0};
      },
      "parameters[0].shape[1]: Megatron-FSDP counts in rows, and those of 3x0 are empty; give at least 1 "
      "column");
  expect_sentence([](Scenario& s) { s.parameters[0].shape = {0, 5}; }, "");
}

TEST(Validate, TheElementsOfAllParametersAreLimited) {
  const std::int64_t half = limits::kMaxElements / 2;
  expect_sentence(
      [=](Scenario& s) {
        s.parameters[0].shape = {half, 1};
        s.parameters.push_back({.name = "w1", .shape = {half}});
      },
      "");
  expect_sentence(
      [=](Scenario& s) {
        s.parameters[0].shape = {half, 1};
        s.parameters.push_back({.name = "w1", .shape = {half + 1}});
      },
      "parameters[1].shape: with 8589934593 the parameters have more than 17179869184 elements, the most "
      "that a "
      "model may have");
  expect_sentence(
      [](Scenario& s) {
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        s.parameters[0].shape = {most};
      },
      "parameters[0].shape: with 9223372036854775807 the parameters have more than 17179869184 elements, the "
      "most that a model may have");
}

TEST(Validate, ParametersAndNames) {
  expect_sentence([](Scenario& s) { s.parameters.clear(); },
                  "parameters: the list is empty; give at least one parameter");
  expect_sentence([](Scenario& s) { s.parameters[0].name = ""; },
                  "parameters[0].name: \"\" is no name; give one that no other has");
  expect_sentence([](Scenario& s) { s.parameters.push_back(s.parameters[0]); },
                  "parameters[1].name: \"w0\" is the name of parameters[0] too; give another");
  expect_sentence([](Scenario& s) { s.parameters[0].name = "a\nb"; },
                  "parameters[0].name: a name holds the control character 0x0a; use printable text");
  expect_sentence([](Scenario& s) { s.name = std::string(257, 'n'); },
                  "name: a name of 257 bytes is too long; use at most 256");
}

TEST(Validate, Types) {
  expect_sentence([](Scenario& s) { s.parameters[0].dtype = DType::e4m3; },
                  "parameters[0].dtype: \"e4m3\" holds no gradient; known are f32, bf16, f16");
  expect_sentence([](Scenario& s) { s.main_grad = DType::u8; },
                  "numerics.main_grad: \"u8\" holds no gradient; known are f32, bf16, f16");
  expect_sentence([](Scenario& s) { s.comm = DType::e5m2; },
                  "numerics.comm: \"e5m2\" holds no gradient; known are f32, bf16, f16");
}

TEST(Validate, ABiasIsNeverFused) {
  const auto one_dimensional = [](Producer producer) {
    return [=](Scenario& s) {
      s.parameters[0].shape = {4};
      s.uses[0].producer = producer;
    };
  };
  expect_sentence(
      one_dimensional(Producer::fused),
      "uses[0].producer: \"fused\" with the 1-D parameter \"w0\": a bias or norm is never fused; use "
      "\"unfused\"");
  EXPECT_NE(sentence([&] {
              Scenario s = small_scenario();
              one_dimensional(Producer::other)(s);
              return s;
            }()),
            "");
  expect_sentence(one_dimensional(Producer::unfused), "");
}

TEST(Validate, OuterGroupsAndSwitchesBelongToTheOwnersThatHaveThem) {
  expect_sentence([](Scenario& s) { s.outer = 2; },
                  "mesh.outer: the strategy megatron-ddp has no outer groups; use 1, or a strategy that has, "
                  "as megatron-fsdp-v1/optim_grads or fsdp2");
  expect_sentence(
      [](Scenario& s) {
        s.strategy = Strategy::fsdp_optim_grads;
        s.ranks = 3;
        s.outer = 2;
      },
      "mesh.outer: 3 ranks are not divisible by 2 outer groups times expert_parallel 1");
  expect_sentence(
      [](Scenario& s) {
        s.strategy = Strategy::megatron_ddp_zero1;
        s.outer = 2;
        s.outer_mode = OuterMode::shard;
      },
      "mesh.outer_mode: \"shard\" is of Megatron-FSDP with sharded gradients on several outer groups, and "
      "this is megatron-ddp-zero1 on 2; use \"replicate\"");
  expect_sentence([](Scenario& s) { s.sync = Sync::last; },
                  "owner.sync: \"last\" is a switch of fsdp2, and the strategy is megatron-ddp; use "
                  "\"every\"");
  expect_sentence([](Scenario& s) { s.outer_sync = Sync::every; },
                  "owner.outer_sync: \"every\" is a switch of fsdp2 on several outer groups, and this is "
                  "megatron-ddp on 1; use \"last\"");
}

TEST(Validate, OnlyFsdp2WithFp8WeightsMayKeepThemWhole) {
  expect_sentence([](Scenario& s) { s.reshard = Reshard::after_step; },
                  "owner.reshard: \"after-step\" is a switch of fsdp2 with FP8 weights, and this is "
                  "megatron-ddp without; use \"after-forward\"");
}

TEST(Validate, OnlySomeOwnersMoveGradientsToTheHost) {
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = small_scenario();
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
    s.strategy = static_cast<Strategy>(i);
    s.offload = true;
    const bool allowed = s.strategy == Strategy::fsdp2 || s.strategy == Strategy::deepspeed_2 ||
                         s.strategy == Strategy::deepspeed_3;
    EXPECT_EQ(sentence(s).empty(), allowed) << name_of(s.strategy);
  }
  expect_sentence([](Scenario& s) { s.offload = true; },
                  "owner.offload: gradients are moved to the host by fsdp2, deepspeed-2 and deepspeed-3, and "
                  "the strategy is megatron-ddp; use false");
}

TEST(Validate, OnlyTheDistributedOptimizerStagesWeights) {
  expect_sentence([](Scenario& s) { s.staging = true; },
                  "owner.staging: weights are staged by megatron-ddp-zero1 with zeroing, on one outer group "
                  "and one pipeline stage, without FP8 weights, aborts, resumes or R4, and this is "
                  "megatron-ddp; use false");
  Scenario s = small_scenario();
  s.strategy = Strategy::megatron_ddp_zero1;
  s.staging = true;
  EXPECT_EQ(sentence(s), "");
}

TEST(Validate, OwnersOfAutogradsGradientsHaveNoFusedProducers) {
  expect_sentence([](Scenario& s) { s.strategy = Strategy::fsdp2; },
                  "uses[0].producer: \"fused\" under fsdp2, where autograd holds every gradient; use "
                  "\"unfused\"");
  expect_sentence(
      [](Scenario& s) { s.strategy = Strategy::fsdp2, s.uses[0].producer = Producer::unflagged; },
      "uses[0].producer: \"unflagged\" under fsdp2, where autograd holds every gradient; use \"unfused\"");
  expect_sentence([](Scenario& s) { s.strategy = Strategy::fsdp2, s.write_mode = WriteMode::r8; }, "");
  expect_sentence(
      [](Scenario& s) {
        s.strategy = Strategy::deepspeed_2;
        s.write_mode = WriteMode::te_ops;
      },
      "protocol.write_mode: te-ops is a protocol of fused producers, and the strategy deepspeed-2 has none; "
      "use R7");
}

TEST(Validate, R4NeedsPersistentDestinations) {
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = small_scenario();
    s.strategy = static_cast<Strategy>(i);
    if (is_unfused_only(s.strategy)) continue;  // refused for another reason
    s.write_mode = WriteMode::r4;
    const bool refused = sentence(s).find("R4 speaks of persistent destinations only") != std::string::npos;
    EXPECT_EQ(refused, has_leases(s.strategy)) << name_of(s.strategy);
  }
}

TEST(Validate, FirstMicrobatchBelongsToTheModulePath) {
  for (int i = 0; i < kWriteModes; ++i) {
    Scenario s = small_scenario();
    s.write_mode = static_cast<WriteMode>(i);
    s.first_microbatch = FirstMicrobatch::armed;
    EXPECT_EQ(sentence(s).empty(), s.write_mode == WriteMode::te_module) << name_of(s.write_mode);
  }
  expect_sentence(
      [](Scenario& s) { s.first_microbatch = FirstMicrobatch::index; },
      "protocol.first_microbatch: \"index\" drives the module path only, and the write mode is R5; "
      "use \"none\", or the write mode te-module");
}

TEST(Validate, DelayAndCaptureNeedFusedUses) {
  expect_sentence([](Scenario& s) { s.execution = Execution::graph, s.write_mode = WriteMode::r7; },
                  "protocol.execution: \"graph\" moves fused writes, and R7 has none; use \"eager\"");
  expect_sentence([](Scenario& s) { s.execution = Execution::delayed, s.uses[0].producer = Producer::other; },
                  "protocol.execution: \"delayed\" moves fused writes, and no use is fused; use \"eager\"");
  expect_sentence([](Scenario& s) { s.execution = Execution::delayed; }, "");
}

TEST(Validate, ProvenanceNeedsRoom) {
  const Change crowded = [](Scenario& s) {
    s.steps = 4;
    s.microbatches = 8;  // 64 contributions
  };
  expect_sentence(crowded,
                  "parameters[0].shape: 2x2 has no room for the provenance of 64 contributions (4 steps x 2 "
                  "ranks x 8 microbatches x 1 uses) at 12 digits an element; make a size at least 6, or set "
                  "numerics.data to \"integers\"");
  const auto but = [&](const Change& change) { return [=](Scenario& s) { crowded(s), change(s); }; };
  expect_sentence(but([](Scenario& s) { s.data = DataMode::integers; }), "");
  expect_sentence(but([](Scenario& s) { s.parameters[0].shape = {6, 1}; }), "");
  expect_sentence(but([](Scenario& s) { s.parameters[0].shape = {0, 2}; }), "");
  expect_sentence(but([](Scenario& s) { s.parameters[0].trainable = false; }), "");
  expect_sentence(but([](Scenario& s) { s.uses.clear(); }), "");
}

}  // namespace
}  // namespace shardcheck
