// StateTrace: what each op of a run leaves in the bytes that stand beside gradients: masters, weights, codes,
// scales, amaxes, activations. Two orders of one plan that leave the same everywhere, and in the end, are the
// same to whoever reads these bytes. Next: schedules.h, which compares orders.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

class StateTrace {
 public:
  /// The plan must outlive it.
  explicit StateTrace(const Plan& plan) : plan_(plan) {}

  /// Call after each op.
  void after(OpIndex op, Backend& backend);
  /// Call after the last one.
  void at_end(Backend& backend);

  /// The first op, by the order of the plan, that leaves something else than in `right`: the trace of the
  /// same plan in another order. Else the first buffer that holds something else in the end.
  std::optional<Finding> difference(const StateTrace& right) const;

 private:
  /// An op, or the number of ops for the end; the buffer.
  using Key = std::pair<std::int32_t, std::int32_t>;
  void keep(Key key, Rank rank, View view, Backend& backend);

  const Plan& plan_;
  std::map<Key, std::uint64_t> digests_;  // of all ranks
};

}  // namespace shardcheck
