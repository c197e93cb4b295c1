// The training loop as a whole: what frozen, silent and tied parameters leave in the plan, and that correct
// protocols break no clause.
#include "sim/planner/planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/contract/monitor.h"
#include "sim/scenario/validate.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

TEST(Planner, AFrozenParameterLeavesNothing) {
  for (int i = 0; i < kStrategies; ++i) {
    Scenario s = base(static_cast<Strategy>(i));
    s.overlap = false;
    s.parameters[0].trainable = false;
    EXPECT_EQ(story(plan_of(s), 0), "[ | | ]") << name_of(s.strategy);
  }
}

TEST(Planner, ASilentRankIsLeftOutOfTheOps) {
  Scenario s = base(Strategy::megatron_ddp);
  s.silent = {{.parameter = 0, .step = 0, .rank = 1, .microbatch = 0}};
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    if (op.why.purpose != Purpose::write) continue;
    const bool silent = op.why.step == 0 && op.why.microbatch == 0;
    EXPECT_EQ(describe(planned.plan.ranks_of(op)), silent ? "rank 0" : "ranks 0 to 1");
  }
}

TEST(Planner, TheHookRunsOnceAfterTheLastUseOnTheWayBack) {
  Scenario s = base(Strategy::megatron_ddp);
  s.microbatches = 1;
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses = {{0}, {1}, {0}};
  EXPECT_EQ(story(plan_of(s), 0, 0), "write1 flag dummy write1 flag dummy drop");
  EXPECT_EQ(story(plan_of(s), 0).find("drop"),
            std::string("[ zero | write1 flag dummy write1 flag dummy ").size())
      << "w1's hook comes before the first use of w0 is back";
}

TEST(Planner, StepsAndMicrobatchesAreMarked) {
  Scenario s = base(Strategy::megatron_ddp);
  s.steps = s.microbatches = 3;
  const Planned planned = plan_of(s);
  ASSERT_EQ(planned.finishes.size(), 3u);
  for (std::int16_t step = 0; step < 3; ++step) {
    const std::string words = story(planned, step);
    EXPECT_EQ(std::count(words.begin(), words.end(), '|'), 3);
    const auto at = static_cast<std::size_t>(planned.finishes[static_cast<std::size_t>(step)].value);
    EXPECT_EQ(word_of(planned.plan, planned.plan.ops[at - 1]), "finish");
    EXPECT_EQ(word_of(planned.plan, planned.plan.ops[at]), "sgd")
        << "gradients are read before the optimizer";
    EXPECT_EQ(planned.plan.ops[at].why.step, step);
  }
  for (std::int32_t i = 0; i < planned.setup_end.value; ++i)
    EXPECT_EQ(planned.plan.ops[static_cast<std::size_t>(i)].why.purpose, Purpose::setup);
}

/// One step of one microbatch with two uses of one weight.
Scenario used_twice(Strategy strategy) {
  Scenario s = base(strategy);
  s.steps = s.microbatches = 1;
  s.uses = {{0}, {0}};
  return s;
}

TEST(Planner, ARecomputationIsMarkedAndLeavesNothing) {
  Scenario s = used_twice(Strategy::megatron_ddp);
  s.loop.recompute.units = {0};
  EXPECT_EQ(story(plan_of(s), 0).find("[ zero | recompute( ) write1 flag dummy write1 flag dummy drop"), 0u);
}

TEST(Planner, AStepThatIsGivenUpBeginsAgain) {
  Scenario s = used_twice(Strategy::megatron_ddp);
  s.loop.aborts = {{.step = 0, .microbatch = 0, .after_uses = 1}};
  EXPECT_EQ(story(plan_of(s), 0)
                .find("[ zero | write1 flag dummy record@r wait abort [ zero | write1 flag dummy "
                      "write1 flag dummy drop"),
            0u);
  s.strategy = Strategy::fsdp_optim_grads;
  EXPECT_EQ(story(plan_of(s), 0)
                .find("[ zero | open acquire write0 flag dummy record@r wait abort close [ zero | "
                      "open acquire write0 flag dummy acquire write1"),
            0u);
  s.loop.aborts = {{.step = 0}};
  const std::string rerun = story(plan_of(s), 0);
  EXPECT_NE(rerun.find("abort [ zero | open acquire write0"), std::string::npos)
      << "no lease was open: " << rerun;
  EXPECT_EQ(rerun.find("finish"), rerun.rfind("finish")) << "only the attempt that ends is finished";
}

TEST(Planner, AProcessThatGoesOnAllocatesItsBuffersAndLearnsAgain) {
  Scenario s = base(Strategy::megatron_ddp);
  s.steps = 3;
  const std::string learned = story(plan_of(s), 1);
  s.loop.resumes = {0};
  const Planned planned = plan_of(s);
  EXPECT_NE(story(planned, 0).find("] resume allocate"), std::string::npos);
  EXPECT_NE(learned.find("AR@r"), std::string::npos);
  EXPECT_EQ(story(planned, 1).find("AR@r"), std::string::npos)
      << "the first step of a process reduces in finish";
  EXPECT_EQ(story(planned, 2).find("AR@r") != std::string::npos, true);
}

TEST(Planner, AFrozenParameterIsNotWaitedFor) {
  for (const Strategy strategy : {Strategy::fsdp_optim_grads, Strategy::deepspeed_2}) {
    Scenario s = base(strategy);
    s.parameters.push_back({.name = "w1", .shape = {4, 32}, .thaws_at = 1});
    s.uses.push_back({.parameter = 1});
    if (is_unfused_only(strategy)) {
      for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
    }
    const Planned planned = plan_of(s);
    const auto number = [&](Row row) { return planned.rows.test(static_cast<std::size_t>(row)); };
    EXPECT_EQ(story(planned, 0, 1), "zero zero") << "its place in the lease, in both microbatches";
    EXPECT_NE(story(planned, 1, 1), "zero zero");
    EXPECT_TRUE(number(Row::launch));
    EXPECT_FALSE(number(Row::launch_leftover)) << "every bucket is complete without it";
  }
}

TEST(Planner, CopiesOfTwoStagesAreSummedBetweenTheReductionAndTheDivision) {
  Scenario s = base(Strategy::fsdp_no_shard);
  s.stages = 2;
  s.overlap = false;
  s.microbatches = 1;
  s.loss = Loss::per_token;
  s.clip = 1;
  s.parameters.push_back({.name = "head", .shape = {4, 32}, .stage = 1, .tied_to = 0});
  s.uses.push_back({.parameter = 1});
  const std::string told = story(plan_of(s), 0);
  EXPECT_NE(told.find("AR AR AR divide divide scale scale finish finish sgd sgd"), std::string::npos) << told;
}

TEST(Planner, CopiesOfTensorParallelRanksAreSummedBetweenTheReductionAndTheDivision) {
  Scenario s = base(Strategy::fsdp_no_shard);
  s.tensor = 3;
  s.overlap = false;
  s.microbatches = 1;
  s.loss = Loss::per_token;
  s.clip = 1;
  s.parameters.push_back({.name = "norm", .shape = {8}, .sequence_parallel = true});
  s.uses.push_back({1, Producer::unfused});
  const Planned planned = plan_of(s);
  EXPECT_NE(story(planned, 1).find("AR AR divide scale finish sgd"), std::string::npos) << story(planned, 1);
  std::vector<std::vector<int>> groups;
  for (const Op& op : planned.plan.ops) {
    if (op.why.purpose != Purpose::reduce_tensor) continue;
    EXPECT_EQ(std::get<Communicate>(op.action).group, 3);
    EXPECT_EQ(op.why.parameter.value, 1) << "w0 is cut over the tensor-parallel ranks";
    groups.emplace_back();
    for (const Rank rank : planned.plan.ranks_of(op)) groups.back().push_back(rank.value);
  }
  const std::vector<int> peers = {0, 2, 4,
                                  1, 3, 5};  // those with equal data-parallel rank, next to each other
  EXPECT_EQ(groups, std::vector(static_cast<std::size_t>(s.steps), peers));
}

TEST(Planner, DeferredWritesAreDrainedAfterTheLastBackward) {
  Scenario s = base(Strategy::megatron_ddp);
  s.uses = {{0, Producer::deferred}};
  const std::string told = story(plan_of(s), 0, 0);
  EXPECT_EQ(told, "flag dummy drop flag dummy write1 write1 drop") << told;
}

TEST(Planner, AnAssignedGradientComesAfterTheBackward) {
  Scenario s = base(Strategy::megatron_ddp);
  s.microbatches = 1;
  s.uses = {{0, Producer::assigned}};
  EXPECT_EQ(story(plan_of(s), 0, 0), "nothing grad hook+ fold+");
}

/// The variations of a scenario under which a correct protocol stays correct.
const std::pair<std::string_view, void (*)(Scenario& s)> kVariations[] = {
    {"plain", [](Scenario&) {}},
    {"no overlap", [](Scenario& s) { s.overlap = false; }},
    {"one slot", [](Scenario& s) { s.slots = 1; }},
    {"staged", [](Scenario& s) { s.comm = DType::bf16; }},
    {"bf16 main_grad", [](Scenario& s) { s.main_grad = DType::bf16; }},
    {"finalize", [](Scenario& s) { s.scaling = Scaling::finalize; }},
    {"average", [](Scenario& s) { s.scaling = Scaling::in_collective; }},
    {"per token", [](Scenario& s) { s.loss = Loss::per_token; }},
    {"delayed", [](Scenario& s) { s.execution = Execution::delayed; }},
    {"graph", [](Scenario& s) { s.execution = Execution::graph; }},
    {"one microbatch", [](Scenario& s) { s.microbatches = 1; }},
    {"used_twice", [](Scenario& s) { s.uses.push_back({0}); }},
    {"tied",
     [](Scenario& s) {
       s.uses.push_back({0, Producer::unfused, 1});
     }},
    {"tied, unfused first",
     [](Scenario& s) {
       s.uses.insert(s.uses.begin(), {0, Producer::unfused});
     }},
    {"another op",
     [](Scenario& s) {
       s.uses.push_back({0, Producer::other});
     }},
    {"silent step", [](Scenario& s) { s.silent = {{.parameter = 0, .step = 1}}; }},
    {"silent rank", [](Scenario& s) { s.silent = {{.parameter = 1, .rank = 1, .microbatch = 0}}; }},
    {"frozen", [](Scenario& s) { s.parameters[1].trainable = false; }},
    {"empty microbatch", [](Scenario& s) { s.token_counts = {{.rank = 0, .microbatch = 1, .tokens = 0}}; }},
    {"experts", [](Scenario& s) { s.ranks = 4, s.expert_parallel = 2, s.parameters[1].expert = true; }},
    {"experts, group of one", [](Scenario& s) { s.expert_parallel = 2, s.parameters[1].expert = true; }},
    {"one rank", [](Scenario& s) { s.ranks = 1; }},
    {"three ranks", [](Scenario& s) { s.ranks = 3; }},
    {"no elements",
     [](Scenario& s) {
       s.parameters[1].shape = {0, 32};
     }},
    {"units", [](Scenario& s) { s.parameters[1].unit = 1; }},
    {"stages",
     [](Scenario& s) {
       s.stages = 2;
       s.parameters[1].stage = 1;
     }},
    {"tied across stages",
     [](Scenario& s) {
       s.stages = 2;
       s.parameters[1].stage = 1;
       if (sums_copies(s.strategy)) s.parameters[1].tied_to = 0;
     }},
    {"cut over tensor-parallel ranks", [](Scenario& s) { s.tensor = 2; }},
    {"copies on tensor-parallel ranks of two stages",
     [](Scenario& s) {
       s.tensor = s.stages = 2;
       s.parameters[1].stage = 1;
       s.parameters[1].sequence_parallel = sums_copies(s.strategy);
     }},
    {"deferred", [](Scenario& s) { s.uses[0].producer = Producer::deferred; }},
    {"assigned", [](Scenario& s) { s.uses[1].producer = Producer::assigned; }},
    {"clipped", [](Scenario& s) { s.clip = 1; }},
    {"recomputed", [](Scenario& s) { s.loop.recompute = {.all = true, .units = {}}; }},
    {"given up in backward",
     [](Scenario& s) {
       s.loop.aborts = {{.step = 0, .microbatch = 1, .after_uses = 1}, {.step = 1, .microbatch = 0}};
     }},
    {"given up after the last backward",
     [](Scenario& s) {
       s.loop.aborts = {{.step = 1}, {.step = 1}};
     }},
    {"resumed", [](Scenario& s) { s.loop.resumes = {0}; }},
    {"thawing", [](Scenario& s) { s.parameters[0].thaws_at = 1; }},
};

TEST(Planner, ReferenceProtocolsBreakNoClause) {
  for (int i = 0; i < kStrategies; ++i) {
    for (WriteMode mode : {WriteMode::r5, WriteMode::r6, WriteMode::r7}) {
      for (const auto& [name, vary] : kVariations) {
        Scenario s = base(static_cast<Strategy>(i));
        s.parameters.push_back({.name = "w1", .shape = {4, 32}});
        s.uses.push_back({.parameter = 1});
        s.write_mode = mode;
        vary(s);
        if (is_unfused_only(s.strategy)) {
          for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
        }
        // Without a fused write there is none to delay or to capture.
        const bool fuses = mode != WriteMode::r7 && !is_unfused_only(s.strategy);
        if (!fuses && s.execution != Execution::eager) continue;
        validate(s, "variation");
        for (const Finding& f : judge(plan_of(s).plan))
          ADD_FAILURE() << name_of(s.strategy) << ", " << name_of(mode) << ", " << name << ": " << f.clause
                        << " " << f.sentence << " (" << f.op_text << ")";
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck::tests
