// Facts: the segments of a claim, sorted once by parameter and element, as several laws ask for them. Next:
// cover.h, the first laws that do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "properties/layout_laws/claim.h"

namespace shardcheck::laws {

/// A segment and where it was found.
struct Piece {
  layout::Segment segment;
  std::int32_t group = 0, bucket = 0;
  Rank rank;
};

/// A claim with its pieces. Refers to the claim.
struct Facts {
  explicit Facts(const Claim& of);

  /// Pieces of the first replica, ascending by (param, p_lo, p_hi).
  std::span<const Piece> pieces_of(ParamId param) const;

  /// The group whose slots name the parameter, or -1.
  std::int32_t group_of(ParamId param) const { return groups[param.value]; }

  const Claim& claim;
  std::vector<Piece> pieces;
  std::vector<std::int32_t> first;         ///< [parameter], first piece; one more at the end
  std::vector<std::int32_t> groups;        ///< [parameter]
  std::vector<const layout::Slot*> slots;  ///< [parameter], null when it has none
};

/// True when the layout must hold the parameter: not an alias, and trainable where only those are held.
bool must_be_held(const Claim& claim, ParamId param);

}  // namespace shardcheck::laws
