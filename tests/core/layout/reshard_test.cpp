// Real numbers are moved by the plan between every two layouts and two worlds, and read back.
#include "core/layout/reshard.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "core/layout/rejection.h"
#include "tests/core/layout/models.h"

namespace shardcheck::layout {
namespace {

using Memory = std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int64_t>, std::int64_t>;

std::int64_t value_of(ParamId param, std::int64_t element) {
  return param.value * 1000 + element;
}

auto key(const Spot& spot, std::int64_t i) {
  return std::tuple{spot.buffer, spot.bucket, spot.rank.value, spot.off + i};
}

Spot spot_of(const Holding& h) {
  return {h.buffer, h.bucket, h.rank, h.off};
}

Memory filled(const Ownership& ownership, const std::vector<Parameter>& parameters) {
  Memory memory;
  for (std::int32_t i = 0; i < std::ssize(parameters); ++i) {
    if (parameters[i].tied_to || !ownership.holds(ParamId{i})) continue;
    for (std::int64_t e = 0; e < ownership.numel(ParamId{i}); ++e) {
      for (std::int64_t r = 0; r < ownership.replicas(ParamId{i}); ++r) {
        memory[key(spot_of(ownership.at(ParamId{i}, e, r)), 0)] = value_of(ParamId{i}, e);
      }
    }
  }
  return memory;
}

std::optional<Ownership> placed(const NamedLayout& layout, const Asked& asked) {
  try {
    return Ownership(layout_named(layout.name, asked.parameters, asked.mesh, asked.configuration),
                     asked.parameters);
  } catch (const Rejected&) {
    return std::nullopt;
  }
}

TEST(Reshard, BetweenAnyTwoLayoutsAndWorlds) {
  const std::vector<Parameter> parameters = even_model();
  int moved = 0;
  for (const NamedLayout& a : named_layouts()) {
    for (const NamedLayout& b : named_layouts()) {
      for (const auto& [from_world, to_world] : {std::pair{3, 3}, std::pair{4, 2}, std::pair{1, 5}}) {
        SCOPED_TRACE(testing::Message()
                     << a.name << " " << from_world << " to " << b.name << " " << to_world);
        const auto from = placed(a, {parameters, mesh_of(from_world), {.block_rows = 2}});
        const auto to = placed(b, {parameters, mesh_of(to_world), {.block_rows = 2}});
        ASSERT_TRUE(from && to);
        const Memory source = filled(*from, parameters);
        Memory target;
        for (const Copy& copy : reshard_plan(*from, *to, parameters)) {
          ASSERT_GT(copy.numel, 0);
          for (std::int64_t i = 0; i < copy.numel; ++i) {
            const auto [place, fresh] = target.insert({key(copy.to, i), source.at(key(copy.from, i))});
            EXPECT_TRUE(fresh) << "an element arrives twice";
          }
        }
        EXPECT_EQ(target, filled(*to, parameters));
        ++moved;
      }
    }
  }
  EXPECT_EQ(moved, 13 * 13 * 3);
}

TEST(Reshard, AWholeTensorIsOneCopy) {
  const auto parameters = of_shapes({{4, 4}});
  const Asked asked{parameters, mesh_of(1), {}};
  const auto from = placed(*find_layout("fsdp2-per-param"), asked);
  const auto to = placed(*find_layout("zero3-flat"), asked);
  EXPECT_EQ(reshard_plan(*from, *to, parameters), (std::vector<Copy>{{ParamId{0}, 0, 16, {}, {}}}));
}

TEST(Reshard, CopiesFollowBoundariesNotElements) {
  const auto parameters = of_shapes({{1 << 20, 1 << 20}});
  const auto from = placed(*find_layout("fsdp2-per-param"), {parameters, mesh_of(6), {}});
  const auto to = placed(*find_layout("zero12-flat"), {parameters, mesh_of(4), {}});
  // Three boundaries of four ranks and five of six, one of them in common up to the rounding to rows.
  EXPECT_EQ(reshard_plan(*from, *to, parameters).size(), 9u);
}

}  // namespace
}  // namespace shardcheck::layout
