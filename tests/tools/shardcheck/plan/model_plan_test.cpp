// Planned models against the closed forms of shard-layouts 5, against `layout --cost`, and against every rank
// of small meshes.
#include "tools/shardcheck/plan/model_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tools/shardcheck/layout/sections.h"

namespace shardcheck {
namespace {

ModelPlanFlags flags_of(const std::string& model, const std::string& strategy, const std::string& mesh) {
  ModelPlanFlags flags;
  flags.model = model;
  flags.strategy = strategy;
  flags.mesh = mesh;
  flags.microbatches = 2;
  return flags;
}

std::string sentence_of(const ModelPlanFlags& flags) {
  try {
    plan_model(flags);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ModelPlan, IsTheClosedFormForEveryStrategyAndModel) {
  const std::pair<std::string, std::string> cases[] = {
      {"llama3-405b", "dp=16384"},       {"llama3-405b", "dp=2048,tp=8"}, {"llama3-8b", "dp=96"},
      {"gpt3-175b", "dp=1000"},          {"mixtral-8x7b", "dp=64,ep=8"},  {"mixtral-8x7b", "dp=24"},
      {"deepseek-v3", "dp=16384,ep=64"}, {"llama3-8b", "dp=1"},
  };
  for (const auto& [model, mesh] : cases) {
    for (const Compared& each : compare_strategies(flags_of(model, "", mesh))) {
      ASSERT_TRUE(each.plan) << each.refusal;
      for (const PlanRole& role : each.plan->roles) {
        const std::string where = model + " on " + mesh + " under " + std::string(each.system->name);
        EXPECT_TRUE(cost::agrees(role.figures.memory.kept(), each.plan->closed.kept)) << where;
        EXPECT_TRUE(cost::agrees(role.figures.sent, each.plan->closed.sent)) << where;
        EXPECT_TRUE(cost::agrees(seconds_in_collectives(*each.plan), each.plan->closed.collectives)) << where;
      }
    }
  }
}

TEST(ModelPlan, OfAnUnpaddedModelIsTheTableOfTheSpecification) {
  const double n = 8'030'261'248;
  const ModelPlan ddp = plan_model(flags_of("llama3-8b", "megatron-ddp", "dp=64"));
  EXPECT_EQ(ddp.roles.front().figures.memory.kept(), 18 * n);
  EXPECT_TRUE(cost::agrees(ddp.roles.front().figures.sent, 2 * 63.0 / 64 * n * 2));
  const ModelPlan zero3 = plan_model(flags_of("llama3-8b", "deepspeed-3", "dp=64"));
  EXPECT_EQ(zero3.roles.front().figures.memory.kept(), 18 * n / 64);
  EXPECT_EQ(zero3.roles.front().figures.sent, 63.0 / 64 * n * 2 * (2 + 2 * 2));
  const ModelPlan hsdp = plan_model(flags_of("llama3-8b", "fsdp2", "replicate=8,dp=8"));
  EXPECT_EQ(hsdp.closed.strategy, cost::Strategy::hsdp);
  EXPECT_EQ(hsdp.roles.front().figures.memory.kept(), 18 * n / 8);
}

TEST(ModelPlan, IsWhatLayoutCostSays) {
  LayoutFlags asked;
  asked.model = "llama3-70b";
  asked.layout = "megatron-fsdp-v1";
  for (const std::string mesh : {"dp=64", "dp=64,tp=4", "replicate=4,dp=16", "dp=12"}) {
    asked.mesh = mesh;
    const auto prices = prices_of(answered(ask(asked)), {.microbatches = 2, .storages = {"bf16"}});
    const ModelPlan plan = plan_model(flags_of(asked.model, "megatron-fsdp-v1/optim_grads_params", mesh));
    const auto price = std::ranges::find(prices, cost::name_of(plan.closed.strategy), &Price::strategy);
    ASSERT_NE(price, prices.end());
    EXPECT_TRUE(cost::agrees(plan.closed.kept, price->kept)) << mesh;
    EXPECT_TRUE(cost::agrees(plan.closed.sent, price->sent)) << mesh;
    EXPECT_TRUE(cost::agrees(plan.closed.collectives, price->seconds)) << mesh;
  }
}

TEST(ModelPlan, RolesHaveWhatTheLayoutGivesTheirRanks) {
  const ModelPlan plan = plan_model(flags_of("llama3-8b", "megatron-fsdp-v1/optim_grads_params", "dp=1000"));
  const layout::Layout layout = answer(plan.question);
  std::size_t ranks = 0;
  for (const PlanRole& role : plan.roles) {
    for (const std::int32_t rank : role.ranks) {
      std::int64_t held = 0, padding = 0;
      for (const layout::Buffer& buffer : layout.buffers) {
        const layout::RankLayout part = buffer.rank_layout(Rank{rank}, 0);
        padding += part.pad_numel;
        held += part.buf_numel - part.pad_numel;
      }
      EXPECT_EQ(role.dense, held);
      EXPECT_EQ(role.padding, padding);
      ++ranks;
    }
  }
  EXPECT_EQ(ranks, 3u);
  EXPECT_GT(plan.roles.size(), 1u) << "the last rank holds padding only";
}

TEST(ModelPlan, ExpertsSeeTheTokensThatAreRoutedToThem) {
  const auto products_of_experts = [](const std::string& mesh) {
    ModelPlanFlags flags = flags_of("mixtral-8x7b", "megatron-fsdp-v1/optim_grads", mesh);
    flags.gpu = {.launch = 0, .bytes_per_second = 1e30};  // nothing but products takes time
    const ModelPlan plan = plan_model(flags);
    EXPECT_EQ(plan.routed, 2);
    double seconds = 0;
    for (const PlanRow& row : plan.rows) seconds += row.work == cost::Work::forward ? row.seconds : 0;
    return seconds;
  };
  // Shared out or not, the experts of a rank together multiply as many tokens.
  EXPECT_TRUE(cost::agrees(products_of_experts("dp=16,ep=8"), products_of_experts("dp=16")));
  ModelPlanFlags flags = flags_of("mixtral-8x7b", "fsdp2", "dp=16");
  flags.routed = 9;
  EXPECT_EQ(sentence_of(flags), "--routed: 9: a layer has 8 experts");
}

TEST(ModelPlan, BadInputIsASentence) {
  const auto says = [](const ModelPlanFlags& flags, const std::string& part) {
    const std::string sentence = sentence_of(flags);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  };
  says(flags_of("llama3-8b", "fsdp3", "dp=8"), "did you mean \"fsdp2\"");
  says(flags_of("llama3-9b", "fsdp2", "dp=8"), "llama3-8b");
  says(flags_of("llama3-8b", "fsdp2", ""), "--mesh dp=64");
  says(flags_of("llama3-8b", "deepspeed-3", "replicate=2,dp=8"), "make it part of dp");
  says(flags_of("llama3-8b", "fsdp2", "outer=2,inner=8"), "shards along one axis");
  says(flags_of("llama3-8b", "megatron-fsdp-v2", "replicate=2,outer=2,inner=8"), "flatten");
  says(flags_of("mixtral-8x7b", "megatron-fsdp-v2", "outer=2,inner=8,ep=2"), "ep=2");
  ModelPlanFlags types = flags_of("llama3-8b", "fsdp2", "dp=8");
  types.dtype_wire = "fp8";
  says(types, "--dtype-wire: \"fp8\"");
  types.dtype_wire = "bf16";
  types.storage = "fp3";
  says(types, "--storage: \"fp3\"");
}

TEST(ModelPlan, AFrozenTensorIsNamed) {
  const auto file = std::filesystem::path(testing::TempDir()) / "shardcheck_model_plan_frozen.json";
  std::ofstream(file) << R"([{"name": "w", "shape": [8, 8], "requires_grad": false}, ["v", [8, 8]]])";
  EXPECT_NE(sentence_of(flags_of(file.string(), "fsdp2", "dp=2")).find("w is frozen"), std::string::npos);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace shardcheck
