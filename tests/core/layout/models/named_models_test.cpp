// The totals that shard-layouts 7 gives, and the payload of a layer.
#include "core/layout/models/named_models.h"

#include <gtest/gtest.h>

namespace shardcheck::layout {
namespace {

struct Total {
  std::string_view name;
  std::int64_t tensors, elements, layer, layer_elements;
};

constexpr Total kTotals[] = {
    {"llama3-8b", 291, 8'030'261'248, 0, 218'112'000},
    {"llama3-70b", 723, 70'553'706'496, 79, 855'654'400},
    {"llama3-405b", 1137, 405'853'388'800, 3, 3'187'703'808},
    {"mixtral-8x7b", 995, 46'702'792'704, 31, 1'451'270'144},
    {"gpt3-175b", 1156, 174'604'259'328, 0, 1'812'099'072},
    {"deepseek-v3", 45395, 671'026'419'200, 2, 583'483'392},
    {"deepseek-v3", 45395, 671'026'419'200, 3, 11'507'286'272},
};

TEST(NamedModels, HaveTheSizesOfTheSpecification) {
  for (const Total& total : kTotals) {
    const NamedModel* model = find_model(total.name);
    ASSERT_NE(model, nullptr) << total.name;
    const auto parameters = model->make();
    EXPECT_EQ(std::ssize(parameters), total.tensors) << total.name;
    std::int64_t elements = 0, layer = 0;
    for (const Parameter& parameter : parameters) {
      elements += parameter.numel();
      if (parameter.unit == total.layer) layer += parameter.numel();
      EXPECT_EQ(layer_in(parameter.name), parameter.unit) << parameter.name;
    }
    EXPECT_EQ(elements, total.elements) << total.name;
    EXPECT_EQ(layer, total.layer_elements) << total.name;
  }
}

TEST(NamedModels, DeepSeekQuantisesWhatItsCheckpointQuantises) {
  std::int64_t matrices = 0, elements = 0, scales = 0, all = 0;
  for (const Parameter& parameter : find_model("deepseek-v3")->make()) {
    if (!is_usually_quantised(parameter)) continue;
    ++matrices;
    elements += parameter.numel();
    scales += (parameter.shape[0] + 127) / 128 * ((parameter.shape[1] + 127) / 128);
  }
  EXPECT_EQ(matrices, 45032);
  EXPECT_EQ(elements, 669'065'609'216);
  EXPECT_EQ(scales, 40'838'232);
  for (const Parameter& parameter : find_model("deepseek-v3-mtp")->make()) all += parameter.numel();
  EXPECT_EQ(all, 684'489'845'504);
}

TEST(NamedModels, KnowTheExpertsOfATokenAndTheTables) {
  EXPECT_EQ(find_model("mixtral-8x7b")->routed, 2);
  EXPECT_EQ(find_model("deepseek-v3")->routed, 8);
  EXPECT_EQ(find_model("llama3-8b")->routed, 0);
  EXPECT_TRUE(is_lookup({.name = "model.embed_tokens.weight"}));
  EXPECT_FALSE(is_lookup({.name = "wte.weight"})) << "the tied head multiplies with it";
}

TEST(NamedModels, ALayerIsReadFromAName) {
  EXPECT_EQ(layer_in("transformer.h.11.ln.weight"), 11);
  EXPECT_EQ(layer_in("wh.11.ln.weight"), std::nullopt);
  EXPECT_EQ(layer_in("layers.x.w"), std::nullopt);
  EXPECT_EQ(layer_in("layers.3"), std::nullopt);
  EXPECT_EQ(layer_in("model.norm.weight"), std::nullopt);
  EXPECT_EQ(find_model("llama4"), nullptr);
}

}  // namespace
}  // namespace shardcheck::layout
