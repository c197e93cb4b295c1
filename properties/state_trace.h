// StateTrace: what each op of a run leaves in the bytes that stand beside gradients: masters, weights, codes,
// scales, amaxes, activations. Two orders of one plan that leave the same everywhere, and in the end, are the
// same to whoever reads these bytes. Next: schedules.h, which compares orders, and delays.h, which compares
// runs that cannot be looked at after each op.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

class StateTrace {
 public:
  /// The plan must outlive it.
  explicit StateTrace(const Plan& plan) : plan_(plan) {}

  /// Call after each op.
  void after(OpIndex op, Backend& backend);
  /// Call at the end of a step, before this op: keeps what the step has made, masters and products.
  void before(OpIndex op, Backend& backend);
  /// Call after the last one.
  void at_end(Backend& backend);

  /// The first op, by the order of the plan, that leaves something else than in `right`, a trace of the same
  /// plan that was kept at the same moments; or the first step, else the first buffer in the end.
  std::optional<Finding> difference(const StateTrace& right) const;

 private:
  enum Moment : std::int32_t { before_op, after_op };
  /// An op, or the number of ops for the end; the moment; the buffer.
  using Key = std::array<std::int32_t, 3>;
  void keep(Key key, Rank rank, View view, Backend& backend);
  /// Whole buffers of such roles, on all ranks.
  void keep_buffers(std::int32_t op, Backend& backend, bool (*is_kept)(BufferRole));

  const Plan& plan_;
  std::map<Key, std::uint64_t> digests_;  // of all ranks
};

}  // namespace shardcheck
