// Range: a half-open interval of elements, the currency of every shard layout. Next: layout.h.
#pragma once

#include <cstdint>

namespace shardcheck::layout {

/// Half-open range of elements.
struct Range {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  std::int64_t numel() const { return hi - lo; }
  bool operator==(const Range&) const = default;
};

}  // namespace shardcheck::layout
