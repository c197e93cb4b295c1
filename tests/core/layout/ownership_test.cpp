// The queries agree, element by element, with the segments that every rank holds, for every layout.
#include "core/layout/ownership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/layout/rejection.h"
#include "tests/core/layout/models.h"

namespace shardcheck::layout {
namespace {

using Key = std::pair<std::int32_t, std::int64_t>;                       // parameter, element
using Held = std::multimap<Key, std::pair<std::int32_t, std::int64_t>>;  // -> rank, off

/// The slow oracle: every element that any rank holds.
Held enumerate(const Buffer& buffer, std::int32_t bucket) {
  Held held;
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) {
    std::vector<Segment> segments;
    if (buffer.cut == Cut::virtual_floor) {
      for (const Slot& slot : buffer.slots) segments.push_back({slot.param, 0, slot.numel, slot.lo});
    } else {
      buffer.append_segments(Rank{rank}, bucket, segments);
    }
    for (const Segment& s : segments) {
      for (std::int64_t e = s.p_lo; e < s.p_hi; ++e) {
        held.insert({{s.param.value, e}, {rank, s.off + e - s.p_lo}});
      }
    }
  }
  return held;
}

void expect_queries_agree(const Ownership& ownership, ParamId param) {
  const Slot& slot = ownership.slot_of(param);
  const Held held = enumerate(ownership.buffer_of(param), slot.bucket);
  for (std::int64_t e = 0; e < slot.numel; ++e) {
    const auto [first, last] = held.equal_range({slot.param.value, e});
    ASSERT_EQ(std::distance(first, last), ownership.replicas(param)) << "element " << e;
    for (std::int64_t replica = 0; replica < ownership.replicas(param); ++replica) {
      const Holding holding = ownership.at(param, e, replica);
      ASSERT_GT(holding.p_hi, e);
      const std::pair<std::int32_t, std::int64_t> place{holding.rank.value, holding.off};
      EXPECT_TRUE(std::any_of(first, last, [&](const auto& entry) { return entry.second == place; }))
          << "element " << e << " rank " << place.first << " off " << place.second;
      const Holding end = ownership.at(param, holding.p_hi - 1, replica);
      EXPECT_EQ(end.rank, holding.rank) << "the run leaves its rank";
      EXPECT_EQ(end.off, holding.off + holding.p_hi - 1 - e) << "the run is not contiguous";
    }
  }
}

void expect_held_agrees(const Ownership& ownership, ParamId param) {
  const Buffer& buffer = ownership.buffer_of(param);
  if (buffer.cut == Cut::virtual_floor) return;
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) {
    std::vector<Segment> all, expected, actual;
    buffer.append_segments(Rank{rank}, ownership.slot_of(param).bucket, all);
    for (const Segment& s : all) {
      if (s.param == ownership.slot_of(param).param) expected.push_back(s);
    }
    ownership.append_held(param, Rank{rank}, actual);
    EXPECT_EQ(actual, expected) << "rank " << rank;
  }
}

class EveryLayout : public testing::TestWithParam<NamedLayout> {};

TEST_P(EveryLayout, QueriesAgreeWithSegments) {
  int placed = 0;
  for (const Asked& asked : questions(GetParam())) {
    try {
      const Ownership ownership(
          layout_named(GetParam().name, asked.parameters, asked.mesh, asked.configuration), asked.parameters);
      ++placed;
      for (std::int32_t i = 0; i < std::ssize(asked.parameters); ++i) {
        if (!ownership.holds(ParamId{i})) continue;
        SCOPED_TRACE(testing::Message() << "P" << i << " on " << asked.mesh.ranks() << " ranks");
        expect_queries_agree(ownership, ParamId{i});
        expect_held_agrees(ownership, ParamId{i});
      }
    } catch (const Rejected&) {
    }
  }
  EXPECT_GE(placed, 5);
}

INSTANTIATE_TEST_SUITE_P(Ownership, EveryLayout,
                         testing::ValuesIn(named_layouts().begin(), named_layouts().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Ownership, AnAliasLivesWhereItsStorageLives) {
  const auto parameters = awkward_model();
  const Ownership ownership(layout_named("fsdp1-flat", parameters, mesh_of(3), {}), parameters);
  EXPECT_EQ(ownership.at(ParamId{6}, 7, 0), ownership.at(ParamId{0}, 7, 0));
}

TEST(Ownership, FrozenParametersAreInNoGradientBuffer) {
  const auto parameters = awkward_model();
  const Ownership ownership(layout_named("megatron-ddp", parameters, mesh_of(3), {}), parameters);
  EXPECT_FALSE(ownership.holds(ParamId{5}));
  EXPECT_TRUE(ownership.holds(ParamId{4}));
}

TEST(Ownership, OneQueryOnAHundredThousandRanks) {
  const auto parameters = of_shapes({{1 << 20, 1 << 20}});
  const Ownership ownership(layout_named("fsdp2-per-param", parameters, mesh_of(131072), {}), parameters);
  const Holding last = ownership.at(ParamId{0}, (std::int64_t{1} << 40) - 1, 0);
  EXPECT_EQ(last.rank, Rank{131071});
  EXPECT_EQ(last.off, (std::int64_t{8} << 20) - 1);
}

}  // namespace
}  // namespace shardcheck::layout
