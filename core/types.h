// Strong integer types for the indices that are easily mixed up. Each wraps a plain integer, compares, and is
// turned back with `.value`.
#pragma once

#include <compare>
#include <cstdint>

namespace shardcheck {

/// An integer that only compares with its own kind.
template <class Tag, class Integer>
struct Strong {
  Integer value{};
  constexpr auto operator<=>(const Strong&) const = default;
};

using Rank = Strong<struct RankTag, std::int32_t>;        ///< a virtual rank of the simulated job, 0-based
using ParamId = Strong<struct ParamTag, std::int32_t>;    ///< position in registration order
using BufferId = Strong<struct BufferTag, std::int32_t>;  ///< an allocation that exists on several ranks
using OpIndex = Strong<struct OpTag, std::int32_t>;       ///< position in a plan

}  // namespace shardcheck
