// Every layout, random models: what is attributed is all the padding there is, rank by rank; and worked
// tables of shard-layouts 3, rule by rule.
#include "core/layout/analysis/padding.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/layout/registry.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::layout {
namespace {

/// Padding counted from what every rank holds; a buffer that every rank holds whole counts once.
std::int64_t padding_rank_by_rank(const Buffer& buffer) {
  std::int64_t padding = 0;
  const bool whole = buffer.cut == Cut::replicated || buffer.cut == Cut::virtual_floor;
  if (whole) {
    padding = buffer.size;
    for (const Slot& slot : buffer.slots) padding -= slot.numel;
    return padding;
  }
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) {
    for (std::size_t b = 0; b < buffer.buckets.size(); ++b)
      padding += buffer.rank_layout(Rank{rank}, static_cast<std::int32_t>(b)).pad_numel;
  }
  return padding;
}

void expect_disjoint(const Buffer& buffer, const std::vector<Hole>& holes, const std::string& what) {
  for (std::size_t i = 0; i < holes.size(); ++i) {
    ASSERT_LT(holes[i].lo, holes[i].hi) << what;
    if (i > 0) {
      ASSERT_GE(holes[i].lo, holes[i - 1].hi) << what;
    }
    for (const Slot& slot : buffer.slots) {
      if (slot.numel == 0) continue;
      ASSERT_TRUE(holes[i].hi <= slot.lo || holes[i].lo >= slot.hi) << what << ": data is called padding";
    }
  }
}

TEST(Padding, IsAttributedToTheLastElementForEveryLayout) {
  std::int64_t padded = 0;
  for (const NamedLayout& named : named_layouts()) {
    for (std::uint64_t number = 0; number < 1500; ++number) {
      const laws::Asked asked = laws::random_question(7, number, named);
      try {
        const Layout layout = layout_named(named.name, asked.parameters, asked.mesh, asked.configuration);
        const Attributed of{named.name, asked.parameters, asked.configuration.block_rows};
        for (const Buffer& buffer : layout.buffers) {
          const std::int64_t truth = padding_rank_by_rank(buffer);
          ASSERT_EQ(padding_of(buffer, of).total(), truth) << to_text(asked);
          ASSERT_EQ(padding_in(buffer), truth) << to_text(asked);
          expect_disjoint(buffer, holes_of(buffer, of), to_text(asked));
          padded += truth > 0;
        }
      } catch (const Error&) {  // a refusal has no padding
      }
    }
  }
  EXPECT_GT(padded, 5000);
}

struct Worked {
  std::string_view layout;
  std::vector<std::vector<std::int64_t>> shapes;
  std::int32_t world;
  Configuration configuration;
  PaddingRule rule;
  std::int64_t elements;
};

TEST(Padding, OfWorkedTablesHasItsRule) {
  using enum PaddingRule;
  const Worked table[] = {
      {"megatron-ddp", {{97}, {103}}, 2, {}, alignment, 25},                                     // 3.2a
      {"megatron-ddp", {{97}, {103}}, 2, {}, bucket_end, 31},                                    // 3.2a
      {"megatron-ddp", {{1000}}, 8, {.pad_for_high_bus_bandwidth = true}, bucket_end, 64536},    // 3.2e
      {"megatron-fsdp-v1", {{5, 4}, {2, 6}, {3}}, 2, {}, chunk, 1},                              // 3.4a
      {"megatron-fsdp-v1", {{5, 4}, {2, 6}, {3}}, 2, {}, bucket_end, 12},                        // 3.4a
      {"mfsdp-v2-flat", {{4, 4}, {1, 6}}, 2, {}, row, 2},                                        // 3.5c
      {"mfsdp-v2-block-atomic", {{64, 2}, {32, 3}}, 2, {.block_rows = 32}, bucket_end, 96},      // 3.6
      {"fsdp1-flat", {{3, 3}, {5}, {2, 4}}, 4, {}, alignment, 10},                               // 3.8a
      {"fsdp1-flat", {{3, 3}, {5}, {2, 4}}, 4, {.fsdp1_mode = Fsdp1Mode::plain}, rank_tail, 2},  // 3.8b
      {"fsdp2-per-param", {{5, 3}, {2, 4}, {1}, {0, 2}}, 4, {}, row, 20},                        // 3.9b
      {"zero12-flat", {{3, 3}, {5}, {2, 4}}, 4, {}, bucket_end, 2},                              // 3.11a
      {"zero3-flat", {{3, 3}, {5}, {1}}, 4, {}, rank_tail, 9},                                   // 3.11e
  };
  for (const Worked& each : table) {
    std::vector<Parameter> parameters;
    for (const auto& shape : each.shapes)
      parameters.push_back({.name = "P" + std::to_string(parameters.size()), .shape = shape});
    const Layout layout = layout_named(each.layout, parameters, mesh_of(each.world), each.configuration);
    const PaddingSums sums =
        padding_of(layout.buffers.front(), {each.layout, parameters, each.configuration.block_rows});
    EXPECT_EQ(sums[each.rule], each.elements) << each.layout << " " << name_of(each.rule);
  }
}

TEST(Padding, LayerwiseShardsPadForBalance) {
  std::vector<Parameter> parameters;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{128, 64}, {64, 64}, {32, 64}, {3}})
    parameters.push_back(
        {.name = "P" + std::to_string(parameters.size()), .shape = shape, .layerwise = true});
  const Layout layout = layout_named("megatron-layerwise", parameters, mesh_of(2), {});
  const PaddingSums sums = padding_of(layout.buffers.front(), {"megatron-layerwise", parameters, 1});
  EXPECT_EQ(sums[PaddingRule::balance], 2045);  // 3.3: 14.3 %
  EXPECT_EQ(sums.total(), 2045);
}

}  // namespace
}  // namespace shardcheck::layout
