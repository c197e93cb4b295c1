// L18 with files: random models are saved under one random layout and loaded under another, through the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/checkpoint/sharded.h"
#include "core/error.h"
#include "properties/layout_laws/judge.h"
#include "properties/layout_laws/memory.h"
#include "properties/layout_laws/random_case.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::laws {
namespace {

std::vector<std::uint32_t>* storage_at(const Claim& claim, Memory& memory, const layout::Spot& spot) {
  if (spot.buffer < 0) return nullptr;  // held by no buffer
  return &memory[spot.buffer][spot.rank.value * claim.groups[spot.buffer].buckets() + spot.bucket];
}

/// Saves under one claim and loads under the other; the number of elements that arrived.
std::int64_t through_files(const Claim& from, const Claim& to, const std::filesystem::path& folder) {
  Memory source = filled(from, 0x7fd0dead);
  checkpoint::save_sharded(folder, ownership_of(from), from.asked.parameters, from.asked.layout,
                           [&](const checkpoint::StoragePlace& at, std::span<std::byte> into) {
                             const auto* storage = storage_at(from, source, at.spot);
                             for (std::size_t i = 0; i < into.size() / 4; ++i) {
                               const std::int64_t e = at.spot.off + static_cast<std::int64_t>(i);
                               const std::uint32_t code = storage ? storage->at(e) : code_of(at.param, e);
                               std::memcpy(into.data() + 4 * i, &code, 4);
                             }
                           });
  Memory target = blank(to, 0x7fd0beef);
  std::int64_t arrived = 0;
  checkpoint::ShardedCheckpoint(folder).load(
      ownership_of(to), to.asked.parameters,
      [&](const checkpoint::StoragePlace& at, std::span<const std::byte> bytes) {
        auto* storage = storage_at(to, target, at.spot);
        for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
          const std::int64_t e = at.spot.off + static_cast<std::int64_t>(i);
          std::uint32_t code = 0;
          std::memcpy(&code, bytes.data() + 4 * i, 4);
          ++arrived;
          if (storage == nullptr) {
            EXPECT_EQ(code, code_of(at.param, e));
          } else {
            storage->at(e) = code;
          }
        }
      });
  EXPECT_EQ(target, filled(to, 0x7fd0beef));
  return arrived;
}

TEST(RealFiles, WhatOneLayoutSavesAnotherLoads) {
  const checkpoint::TempFolder temp;
  std::int64_t cases = 0, arrived = 0;
  for (std::uint64_t i = 0; i < 2600 && !testing::Test::HasFailure(); ++i) {
    Case drawn = random_case(30, i);
    for (Asked* asked : {&drawn.asked, &*drawn.moved_to}) {
      for (layout::Parameter& p : asked->parameters) p.dtype = DType::f32;  // a code is four bytes
    }
    SCOPED_TRACE(testing::Message() << "case " << i << ": " << to_text(drawn.asked) << "\nto "
                                    << to_text(*drawn.moved_to));
    const auto is_huge = [](const layout::Parameter& p) { return p.numel() > kMostStorage; };
    if (std::ranges::any_of(drawn.asked.parameters, is_huge)) continue;
    std::optional<Claim> from, to;
    try {
      from = claim_of(drawn.asked);
      to = claim_of(*drawn.moved_to);
    } catch (const Error&) {  // a layout refuses the model
      continue;
    }
    constexpr std::int64_t kMost = 1 << 14;
    if (storage_of(*from) > kMost || storage_of(*to) > kMost) continue;
    arrived += through_files(*from, *to, temp.path() / "checkpoint");
    ++cases;
  }
  EXPECT_GT(cases, 1500);
  EXPECT_GT(arrived, 100000);
}

}  // namespace
}  // namespace shardcheck::laws
