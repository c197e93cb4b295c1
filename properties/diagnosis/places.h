// ElementPlaces: where the bytes of one gradient element lie in the course of a plan: in persistent buffers
// and shards, in the lease that is open, in autograd's gradient and its placeholder. Next: algebra.h follows
// the value through them.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// An element of a parameter, flattened row-major.
struct Element {
  ParamId parameter{-1};
  std::int64_t index = 0;
};

class ElementPlaces {
 public:
  ElementPlaces(const Plan& plan, Element element);

  /// Tells of the next op of the plan; a lease that it opens moves the element.
  void pass(const Op& op);

  /// The element's offset in the buffer of `view`, an operand of `op` on `rank`, when the view covers it.
  std::optional<std::int64_t> find(const Op& op, Rank rank, View view) const;

 private:
  std::optional<std::int64_t> offset_in(const Placement& placement) const;
  std::optional<std::int64_t> persistent(Rank rank, View view) const;

  struct Spot {
    Rank rank;  ///< -1: on every rank
    BufferId buffer;
    std::int64_t offset;
  };
  const Plan& plan_;
  Element element_;
  std::vector<Spot> spots_;
  std::vector<std::int64_t> leased_;  // a buffer: the element's offset in its latest lease, or -1
};

}  // namespace shardcheck
