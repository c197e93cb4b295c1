// Reshard: which elements go from which rank to which when a model moves between two layouts, two world sizes
// or both (L16, L17). The plan of a parameter is the merge of its two sequences of holdings, produced copy by
// copy, so nothing grows with the world. Next: ownership.h, where the holdings come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/layout/ownership.h"

namespace shardcheck::layout {

/// Storage of one rank in one bucket, and an offset in it.
struct Spot {
  std::int32_t buffer = 0, bucket = 0;
  Rank rank;
  std::int64_t off = 0;
  bool operator==(const Spot&) const = default;
};

/// `numel` elements of a parameter that move together.
struct Copy {
  ParamId param;
  std::int64_t p_lo = 0;
  std::int64_t numel = 0;
  Spot from, to;
  bool operator==(const Copy&) const = default;
};

/// The copies of one parameter that both sides hold, ascending by target replica, then by element. Reads from
/// the first replica of the source. Each step costs one ownership query a side.
class ReshardCursor {
 public:
  ReshardCursor(const Ownership& from, const Ownership& to, ParamId param);
  std::optional<Copy> next();

 private:
  const Ownership& from_;
  const Ownership& to_;
  ParamId param_;
  std::int64_t element_ = 0, replica_ = 0;
};

/// All copies of all parameters that both sides hold; an alias of a tied parameter moves with its storage,
/// once.
std::vector<Copy> reshard_plan(const Ownership& from, const Ownership& to,
                               std::span<const Parameter> parameters);

}  // namespace shardcheck::layout
