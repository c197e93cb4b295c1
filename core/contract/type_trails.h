// TypeTrails: for every range of gradient bytes on every rank, how far its content has come on the declared
// pipeline and what it passed through that nobody declared. Kept only while a suspicious plan is followed;
// roundings.h says when that is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// The parts of a gradient's way, in its order (wgrad 8.3).
enum class Stretch : std::uint8_t {
  autograd,  ///< an unfused gradient, before the hook
  local,     ///< the sum of contributions on one rank
  wire,      ///< what is reduced
  outer,     ///< what outer groups have not added yet, and their sum
  reduced,   ///< what is accumulated over microbatches, and consumed
};

struct Trail {
  Stretch at = Stretch::local;
  OpIndex produced{-1};  ///< the GEMM that left it in autograd's buffer; -1: it is somewhere else by now
  OpIndex rounded{-1};   ///< the first op that rounded it without a declaration
  BufferId through;      ///< which that op wrote

  bool operator==(const Trail&) const = default;
};

/// A range with one trail.
struct TrailPiece {
  View view;
  Trail trail;
};

class TypeTrails {
 public:
  explicit TypeTrails(const Plan& plan);

  void set(Rank rank, View view, const Trail& trail);
  /// The view, cut where trails differ; bytes that nobody set are at the begin of the way.
  std::vector<TrailPiece> of(Rank rank, View view) const;

 private:
  struct Range {
    std::int64_t end = 0;
    Trail trail;
  };
  using Ranges = std::map<std::int64_t, Range>;  // by begin; they do not overlap
  std::size_t slot(Rank rank, BufferId buffer) const {
    return static_cast<std::size_t>(rank.value) * buffers_ + static_cast<std::size_t>(buffer.value);
  }

  std::size_t buffers_ = 0;
  std::vector<Ranges> ranges_;  // a rank and buffer
};

}  // namespace shardcheck
