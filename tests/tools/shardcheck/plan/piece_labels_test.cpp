// Equal layers have one label; pieces that differ too much have one together.
#include "tools/shardcheck/plan/piece_labels.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

Question question_of(const std::string& model, const std::string& layout, const std::string& mesh) {
  LayoutFlags flags;
  flags.model = model;
  flags.layout = layout;
  flags.mesh = mesh;
  return ask(flags);
}

std::vector<std::string> labels_of(const Question& question, std::size_t most) {
  const layout::Layout layout = answer(question);
  std::vector<Rank> ranks;
  for (const layout::Buffer& buffer : layout.buffers) ranks.push_back(rank_in(question, buffer, Rank{0}));
  const auto pieces =
      cost::pieces_of(layout, question.parameters, ranks, {.sharded = cost::Sharded::optimizer});
  const PieceLabels labels = label_pieces(question, pieces, most);
  EXPECT_EQ(labels.kind_of.size(), pieces.size());
  return labels.names;
}

TEST(PieceLabels, AreOneForEqualLayers) {
  EXPECT_EQ(labels_of(question_of("llama3-70b", "megatron-fsdp-v1", "dp=64"), 8),
            (std::vector<std::string>{"embed_tokens", "lm_head, norm", "layers 0-79"}));
  const auto experts = labels_of(question_of("deepseek-v3", "mfsdp-v2-flat", "dp=64,ep=8"), 8);
  EXPECT_EQ(experts.back(), "layers 3-60, experts");
}

TEST(PieceLabels, BucketsThatCutThroughLayersAreOneKind) {
  const auto ddp = labels_of(question_of("llama3-70b", "megatron-ddp", "dp=64"), 4);
  ASSERT_EQ(ddp.size(), 1u);
  EXPECT_TRUE(ddp.front().ends_with(" buckets")) << ddp.front();
  const auto moe = labels_of(question_of("deepseek-v3", "megatron-ddp", "dp=64,ep=8"), 4);
  ASSERT_EQ(moe.size(), 2u);
  EXPECT_TRUE(moe.back().ends_with(" buckets of experts")) << moe.back();
}

}  // namespace
}  // namespace shardcheck
