// The least padding is a bound for what layouts do; worked numbers of shard-layouts 3.13.
#include "core/layout/analysis/relaxations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/layout/analysis/padding.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::layout {
namespace {

std::int64_t padding_in(const Layout& layout) {
  std::int64_t padding = 0;
  for (const Buffer& buffer : layout.buffers) padding += padding_in(buffer);
  return padding;
}

TEST(Relaxations, TheLeastPaddingIsABoundForEveryLayout) {
  std::int64_t tight = 0, loose = 0;
  for (const NamedLayout& named : named_layouts()) {
    for (std::uint64_t number = 0; number < 1000; ++number) {
      const laws::Asked asked = laws::random_question(31, number, named);
      try {
        const Layout layout = layout_named(named.name, asked.parameters, asked.mesh, asked.configuration);
        const MadeLayout made{&named, &layout, asked.parameters, &asked.configuration};
        const std::int64_t least = least_padding(made), actual = padding_in(layout);
        ASSERT_GE(least, 0) << to_text(asked);
        ASSERT_LE(least, actual) << to_text(asked);
        (least == actual ? tight : loose) += 1;
        for (const Relaxation& relaxation : relaxations_of(made))
          ASSERT_GE(relaxation.padding, 0) << to_text(asked) << " " << relaxation.rule;
      } catch (const Error&) {  // nothing to bound
      }
    }
  }
  EXPECT_GT(tight, 1000);
  EXPECT_GT(loose, 1000);
}

const Relaxation& named(const std::vector<Relaxation>& list, std::string_view rule) {
  const auto found = std::ranges::find(list, rule, &Relaxation::rule);
  EXPECT_NE(found, list.end()) << rule;
  return *found;
}

/// The 2-D matrices of one layer of an 8B model (3.13, first rows).
std::vector<Parameter> layer_8b() {
  std::vector<Parameter> parameters;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{4096, 4096},
                                                                  {1024, 4096},
                                                                  {1024, 4096},
                                                                  {4096, 4096},
                                                                  {14336, 4096},
                                                                  {14336, 4096},
                                                                  {4096, 14336}})
    parameters.push_back({.name = "P" + std::to_string(parameters.size()), .shape = shape});
  return parameters;
}

TEST(Relaxations, BlocksOfA8BLayerAt1024Ranks) {
  const auto parameters = layer_8b();
  const Configuration configuration{.block_rows = 32};
  const NamedLayout* layout_name = find_layout("mfsdp-v2-block-atomic");
  const Layout layout = layout_named(layout_name->name, parameters, mesh_of(1024), configuration);
  const MadeLayout made{layout_name, &layout, parameters, &configuration};
  const std::int64_t payload = 218'103'808, actual = padding_in(layout);
  EXPECT_EQ((actual * 100 + payload / 2) / payload, 331);  // 331 %
  const auto list = relaxations_of(made);
  EXPECT_LT(named(list, "whole blocks").padding, actual / 10);  // v2-flat: 7.7 %
  EXPECT_EQ((named(list, "whole blocks").padding * 1000 + payload / 2) / payload, 77);
  EXPECT_EQ(named(list, "equal shards").padding, 0);
  EXPECT_EQ(list.front().padding, 0);
}

TEST(Relaxations, RowsOfOneSizeNeedNoLcm) {
  // Rows 3 and 2 make C = 6; a buffer for each asks for multiples of 3 and of 2 only.
  const std::vector<Parameter> parameters{{.name = "a", .shape = {4, 3}}, {.name = "b", .shape = {4, 2}}};
  const Configuration configuration;
  const NamedLayout* layout_name = find_layout("mfsdp-v2-flat");
  const Layout layout = layout_named(layout_name->name, parameters, mesh_of(4), configuration);
  const MadeLayout made{layout_name, &layout, parameters, &configuration};
  EXPECT_EQ(padding_in(layout), 24 - 20);
  EXPECT_EQ(named(relaxations_of(made), "rows of all sizes in one buffer").padding, 0);
  EXPECT_EQ(named(relaxations_of(made), "one zero-copy buffer").padding, 0);
  // Shards of 5 have two boundaries in the tensor of 12, so 3 divides their size.
  EXPECT_EQ(least_padding(made), 4);
}

}  // namespace
}  // namespace shardcheck::layout
