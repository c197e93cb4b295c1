// Folding: nothing is lost, and names say what they stand for.
#include "tools/shardcheck/layout/kinds.h"

#include <gtest/gtest.h>

#include "tools/shardcheck/layout/sections.h"

namespace shardcheck {
namespace {

LayoutFlags flags(const std::string& model, const std::string& layout, const std::string& mesh) {
  LayoutFlags flags;
  flags.model = model;
  flags.layout = layout;
  flags.mesh = mesh;
  return flags;
}

TEST(Kinds, NamesFoldTheirNumbers) {
  FoldedName name;
  name.add("model.layers.3.mlp.experts.7.up_proj.weight");
  name.add("model.layers.60.mlp.experts.2.up_proj.weight");
  EXPECT_EQ(name.text(), "model.layers.{3-60}.mlp.experts.{2-7}.up_proj.weight");
  EXPECT_EQ(name.count(), 2);
  EXPECT_EQ(pattern_of("h.12.ln_1.weight"), "h.#.ln_1.weight");
  EXPECT_EQ(short_name("model.norm.weight"), "norm");
}

TEST(Kinds, CoverEveryBucketOnceForEveryLayout) {
  for (const auto& named : layout::named_layouts()) {
    const Answered answer = answered(ask(flags("llama3-8b", std::string(named.name), "dp=8")));
    std::int64_t places = 0, buckets = 0, tensors = 0;
    for (const Kind& kind : answer.kinds) places += kind.count();
    for (const auto& buffer : answer.layout.buffers) {
      buckets += std::ssize(buffer.buckets);
      tensors += std::ssize(buffer.slots);
    }
    EXPECT_EQ(places, buckets) << named.name;
    const Sizes sizes = sizes_of(answer);
    EXPECT_EQ(sizes.tensors, tensors) << named.name;
    EXPECT_EQ(sizes.payload, 8'030'261'248) << named.name;
    EXPECT_LT(answer.kinds.size(), 40u) << named.name << ": layers that lie alike are not folded";
  }
}

TEST(Kinds, LayersOfOneKindHaveTheirRange) {
  const Answered answer = answered(ask(flags("llama3-70b", "mfsdp-v2-flat", "dp=64")));
  ASSERT_EQ(answer.kinds.size(), 2u);
  EXPECT_EQ(answer.kinds[1].label, "layers 0-79");
  EXPECT_EQ(answer.kinds[1].count(), 80);
}

TEST(Kinds, ExtentsReadAsRows) {
  const layout::Parameter matrix{.name = "w", .shape = {4000, 8}};
  EXPECT_EQ(extent_text(matrix, {0, 32000}), "all");
  EXPECT_EQ(extent_text(matrix, {8, 16000}), "rows 1-1,999");
  EXPECT_EQ(extent_text(matrix, {8, 16}), "row 1");
  EXPECT_EQ(extent_text(matrix, {9, 16}), "elements 9-15");
}

}  // namespace
}  // namespace shardcheck
