// The notation of the worked examples of shard-layouts 3: `P1[12:16]@0` is elements 12..15 of P1 at local
// offset 0. Tests state golden tables in it, so a failure reads like the specification.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Parameters P0, P1, ... of these shapes, bf16 and trainable.
inline std::vector<Parameter> of_shapes(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<Parameter> parameters;
  for (const auto& shape : shapes) {
    parameters.push_back({.name = fmt::format("P{}", parameters.size()), .shape = shape});
  }
  return parameters;
}

/// A rank's segments of a bucket, for example "P0[0:20]@0 P2[0:3]@20"; "" for an empty shard.
inline std::string spelled(const Buffer& buffer, std::int32_t rank, std::int32_t bucket = 0) {
  std::string text;
  for (const Segment& s : buffer.rank_layout(Rank{rank}, bucket).segs) {
    text += fmt::format("{}P{}[{}:{}]@{}", text.empty() ? "" : " ", s.param.value, s.p_lo, s.p_hi, s.off);
  }
  return text;
}

/// Every rank's segments of the first bucket.
inline std::vector<std::string> spelled_ranks(const Buffer& buffer) {
  std::vector<std::string> ranks;
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) ranks.push_back(spelled(buffer, rank));
  return ranks;
}

/// Every rank's padding in the first bucket.
inline std::vector<std::int64_t> pads(const Buffer& buffer) {
  std::vector<std::int64_t> ranks;
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) {
    ranks.push_back(buffer.rank_layout(Rank{rank}, 0).pad_numel);
  }
  return ranks;
}

/// Global offsets in the order of parameters.
inline std::vector<std::int64_t> offsets(const Buffer& buffer, std::size_t parameters) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < parameters; ++i) {
    const Slot* slot = buffer.find(ParamId{static_cast<std::int32_t>(i)});
    result.push_back(slot ? slot->lo : -1);
  }
  return result;
}

/// Buckets as (lo, hi).
inline std::vector<std::pair<std::int64_t, std::int64_t>> bucket_ranges(const Buffer& buffer) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Bucket& bucket : buffer.buckets) ranges.push_back({bucket.lo, bucket.hi});
  return ranges;
}

using Strings = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace shardcheck::layout
