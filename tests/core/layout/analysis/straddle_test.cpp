// Blocks that lie on several ranks, against looking at every element of every block; and the examples of
// shard-layouts 4.
#include "core/layout/analysis/straddle.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/layout/registry.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::layout {
namespace {

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// Ranks of every block, element by element.
std::map<Key, std::set<std::int32_t>> enumerate(const Ownership& ownership, const Parameter& parameter,
                                                ParamId id, BlockShape shape) {
  const auto& extents = parameter.shape;
  const std::int64_t columns = extents.empty() ? 1 : extents.back();
  const std::int64_t rows = extents.size() > 1 ? extents[extents.size() - 2] : 1;
  std::map<Key, std::set<std::int32_t>> blocks;
  for (std::int64_t e = 0; e < ownership.numel(id); ++e) {
    const Key key{e / (rows * columns), e / columns % rows / shape.rows, e % columns / shape.columns};
    blocks[key].insert(ownership.at(id, e, 0).rank.value);
  }
  return blocks;
}

void expect_equal_to_enumeration(const Ownership& ownership, const Parameter& parameter, ParamId id,
                                 BlockShape shape, const std::string& what) {
  const Straddling straddling(ownership, parameter, id, shape);
  const auto truth = enumerate(ownership, parameter, id, shape);
  std::int64_t count = 0;
  for (const auto& [key, ranks] : truth) count += ranks.size() > 1;
  const Straddle found = straddling.count();
  ASSERT_EQ(found.straddling, count) << what;
  if (ownership.numel(id) > 0) {
    ASSERT_EQ(found.blocks, std::ssize(truth)) << what;
  }
  std::int64_t shared = 0;
  for (const SharedBlocks& group : straddling.shared(1'000'000)) {
    shared += group.count;
    for (std::int64_t i = 0; i < group.count; ++i) {
      const auto& ranks = truth.at({group.first.matrix, group.first.row, group.first.column + i});
      std::vector<std::int32_t> listed;
      for (const Rank rank : group.ranks) listed.push_back(rank.value);
      ASSERT_EQ(listed, std::vector<std::int32_t>(ranks.begin(), ranks.end())) << what;
    }
  }
  ASSERT_EQ(shared, count) << what;
}

TEST(Straddle, EqualsLookingAtEveryElementForEveryLayout) {
  constexpr BlockShape shapes[] = {{1, 2}, {2, 1}, {2, 3}, {4, 4}, {32, 1}, {1, 32}, {3, 2}};
  std::int64_t looked = 0;
  for (const NamedLayout& named : named_layouts()) {
    for (std::uint64_t number = 0; number < 300; ++number) {
      const laws::Asked asked = laws::random_question(23, number, named);
      try {
        const Ownership ownership(layout_named(named.name, asked.parameters, asked.mesh, asked.configuration),
                                  asked.parameters);
        for (std::size_t i = 0; i < asked.parameters.size(); ++i) {
          const ParamId id{static_cast<std::int32_t>(i)};
          if (!ownership.holds(id) || ownership.numel(id) > 2000) continue;
          const BlockShape shape = shapes[(number + i) % std::size(shapes)];
          expect_equal_to_enumeration(ownership, asked.parameters[i], id, shape, to_text(asked));
          ++looked;
        }
      } catch (const Error&) {  // a refused model has no blocks
      }
    }
  }
  EXPECT_GT(looked, 4000);
}

struct Example {
  std::vector<std::int64_t> shape;
  std::int32_t world;
  BlockShape block;
  std::int64_t flat, rows, blocks;  // straddling under an equal cut and under fsdp2, and all
};

TEST(Straddle, HasTheNumbersOfTheSpecification) {
  const Example table[] = {
      {{64, 64}, 3, {1, 32}, 2, 0, 128},     {{64, 64}, 3, {32, 1}, 128, 128, 128},
      {{64, 64}, 3, {32, 32}, 4, 4, 4},      {{96, 64}, 4, {1, 32}, 0, 0, 192},
      {{96, 64}, 4, {32, 1}, 192, 192, 192}, {{96, 64}, 4, {32, 32}, 6, 6, 6},
      {{100, 40}, 3, {1, 32}, 2, 0, 200},    {{100, 40}, 3, {32, 1}, 80, 80, 160},
      {{100, 40}, 3, {32, 32}, 4, 4, 8},
  };
  for (const Example& each : table) {
    const std::vector<Parameter> parameters{{.name = "w", .shape = each.shape}};
    for (const std::string_view name : {"fsdp1-flat", "fsdp2-per-param"}) {
      const Configuration plain{.fsdp1_mode = Fsdp1Mode::plain};
      const Ownership ownership(layout_named(name, parameters, mesh_of(each.world), plain), parameters);
      const Straddle found = Straddling(ownership, parameters[0], ParamId{0}, each.block).count();
      EXPECT_EQ(found.blocks, each.blocks) << name;
      EXPECT_EQ(found.straddling, name == "fsdp1-flat" ? each.flat : each.rows)
          << name << " " << each.shape[0];
    }
  }
}

TEST(Straddle, BlockShapesAreRead) {
  EXPECT_EQ(block_shape_in("128x64", "--blocks"), (BlockShape{128, 64}));
  for (const char* wrong : {"", "128", "0x1", "1x", "x", "-1x4", "1x2x3", "ax1", "99999999999999999999x1"})
    EXPECT_THROW(block_shape_in(wrong, "--blocks"), Error) << wrong;
}

}  // namespace
}  // namespace shardcheck::layout
