// Ownership: who holds element i of tensor t, and what a rank holds of it, for every layout, computed from
// its rule in O(log n) without looking at other ranks (shard-layouts 5, last paragraph). Invariant: the
// holding of an element lies in the segments that Buffer::append_segments gives for its rank. Next:
// reshard.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// A run of elements of one parameter that one rank holds together.
struct Holding {
  std::int32_t buffer = 0, bucket = 0;
  Rank rank;                        ///< in the group of the buffer
  std::int64_t p_lo = 0, p_hi = 0;  ///< begins at the element that was asked for
  std::int64_t off = 0;             ///< of p_lo in the rank's storage of the bucket
  bool operator==(const Holding&) const = default;
};

/// Answers for one layout, which it keeps. Set-up is linear in parameters and slots.
class Ownership {
 public:
  Ownership(Layout layout, std::span<const Parameter> parameters);

  const Layout& layout() const { return layout_; }

  /// False for parameters that are in no buffer, as frozen ones in gradient buffers. An alias of a tied
  /// parameter is held where its storage is.
  bool holds(ParamId param) const { return places_[param.value].buffer >= 0; }

  /// Elements of a parameter that is held.
  std::int64_t numel(ParamId param) const { return slot_of(param).numel; }

  /// Number of ranks that hold each of its elements: 1 unless it is replicated.
  std::int64_t replicas(ParamId param) const;

  /// Who holds `element`, which must exist, within the given replica.
  Holding at(ParamId param, std::int64_t element, std::int64_t replica) const;

  /// Appends what `rank` of its group holds of a parameter, ascending by off.
  void append_held(ParamId param, Rank rank, std::vector<Segment>& segments) const;

  const Buffer& buffer_of(ParamId param) const { return layout_.buffers[places_[param.value].buffer]; }
  std::int32_t buffer_index(ParamId param) const { return places_[param.value].buffer; }
  const Slot& slot_of(ParamId param) const { return buffer_of(param).slots[places_[param.value].slot]; }

 private:
  struct Place {
    std::int32_t buffer = -1, slot = -1;
  };
  Layout layout_;
  std::vector<Place> places_;
};

}  // namespace shardcheck::layout
