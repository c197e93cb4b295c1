// Whole FP8 steps: every recipe under every owner is right by its own checker, and the order of a step is
// that of fp8 4.9.
#include "sim/weights/fp8_weights.h"

#include <gtest/gtest.h>

#include "core/contract/monitor.h"
#include "sim/scenario/examples.h"
#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

TEST(Fp8Weights, EveryRecipeUnderEveryOwnerIsRight) {
  struct Row {
    const char* recipe;
    std::int64_t side;
  };
  const Row rows[] = {{"te-current", 3}, {"te-current-pow2", 5}, {"te-delayed", 3},
                      {"te-mxfp8", 32},  {"te-mxfp8-32x32", 32}, {"te-block-128x128", 128}};
  for (const Row& row : rows) {
    for (const Strategy strategy : kWithFp8) {
      Scenario s = training(row.recipe, strategy, {row.side, 2 * row.side});
      s.fp8->evaluations = {0};
      s.fp8->recompute = true;
      const Planned planned = plan_of(s);
      EXPECT_TRUE(judge(planned.plan).empty()) << row.recipe << ", " << name_of(s.strategy);
      EXPECT_TRUE(weight_findings(s, planned).empty()) << row.recipe << ", " << name_of(s.strategy);
    }
  }
}

TEST(Fp8Weights, AMicrobatchGathersMultipliesAndReshards) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  s.parameters.resize(1);
  s.uses = {{.parameter = 0}};
  s.overlap = false;
  s.microbatches = 1;
  const std::string words = story(plan_of(s), 1);
  EXPECT_EQ(words.substr(0, words.find("open")),
            "[ zero | AG quantise8 product undefine undefine "
            "AG derive quantise8 product undefine undefine undefine undefine ");
}

TEST(Fp8Weights, NothingOfItIsPlannedWithoutTheSection) {
  Scenario s = training("te-current", Strategy::fsdp_optim_grads_params, {4, 6});
  s.fp8.reset();
  const Planned planned = plan_of(s);
  EXPECT_TRUE(planned.plan.weight_copies.empty() && planned.outputs.empty() && planned.initial.empty());
  for (const Op& op : planned.plan.ops) EXPECT_LT(op.why.purpose, Purpose::weights);
}

TEST(Fp8Weights, WeightsMoveInEveryStep) {
  for (const DataMode mode : {DataMode::integers, DataMode::provenance}) {
    Scenario s = training("te-mxfp8", Strategy::fsdp_optim_grads, {32, 64});
    s.data = mode;
    const auto backend = make_backend("cpu", {.profile = "ideal"});
    const ScenarioData data(s);
    const Planned planned = plan_of(s);
    const View codes = planned.plan.weight_copies[0].codes;
    std::set<std::vector<std::byte>> versions;
    RunEvents events;
    const auto keep = [&] {
      std::vector<std::byte> bytes(static_cast<std::size_t>(codes.numel));
      backend->read(planned.plan, Rank{0}, codes, bytes);
      versions.insert(bytes);
    };
    events.at_finish = [&](std::int32_t) { keep(); };
    events.at_end = keep;
    run(planned, s, data, *backend, events);
    EXPECT_EQ(versions.size(), 4u) << "the first version and one a step, " << name_of(mode);
  }
}

}  // namespace
}  // namespace shardcheck::tests
