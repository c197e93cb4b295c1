// The registry names the 13 layouts of the specification and refuses what cannot be meant.
#include "core/layout/registry.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/core/layout/models.h"

namespace shardcheck::layout {
namespace {

std::string refusal(std::string_view name, const Mesh& mesh, const Configuration& configuration = {}) {
  try {
    layout_named(name, of_shapes({{4, 4}}), mesh, configuration);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, NamesAreUniqueAndFound) {
  EXPECT_EQ(named_layouts().size(), 13u);
  for (const NamedLayout& layout : named_layouts()) EXPECT_EQ(find_layout(layout.name), &layout);
}

TEST(Registry, AnUnknownNameListsTheKnownOnes) {
  EXPECT_NE(refusal("zero4", mesh_of(2)).find("zero3-flat"), std::string::npos);
}

TEST(Registry, TwoShardAxesAreNotGuessed) {
  const Mesh two{{{"dp", 4, AxisUse::shard}, {"cp", 2, AxisUse::shard}}};
  EXPECT_NE(refusal("fsdp2-per-param", two).find("flatten them"), std::string::npos);
  EXPECT_EQ(refusal("mfsdp-v2-flat", two), "");
}

TEST(Registry, MeshesThatCannotBe) {
  EXPECT_NE(refusal("fsdp2-per-param", mesh_of(0)), "");
  const Mesh huge{{{"a", 1 << 20, AxisUse::shard}, {"b", 1 << 20, AxisUse::replicate}}};
  EXPECT_NE(refusal("mfsdp-v2-flat", huge).find("2147483647"), std::string::npos);
}

TEST(Registry, CountsThatDoNotFit) {
  EXPECT_NE(refusal("vescale-ragged", mesh_of(2), {.units = {1}}), "");
  EXPECT_NE(refusal("mfsdp-v2-tensor-atomic", mesh_of(2), {.owners = {Rank{0}, Rank{1}}}), "");
  EXPECT_NE(refusal("dtensor-nd", mesh_of(2), {.order = {0, 1}}), "");
}

}  // namespace
}  // namespace shardcheck::layout
