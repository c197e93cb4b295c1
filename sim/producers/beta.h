// The predicate that chooses beta for a fused write: what Transformer Engine ships today and the redesigns R1
// to R8 (wgrad 4.2 to 4.4). One function, so that the designs can be read side by side.
#pragma once

#include "core/plan/op.h"
#include "sim/planner/job.h"

namespace shardcheck {

/// beta and what it was derived from.
struct Beta {
  bool accumulate = false;
  BetaRule rule = BetaRule::first_touch;
  bool operator==(const Beta&) const = default;
};

/// State that a producer captured before the write is issued.
struct Captured {
  bool first_microbatch = false;  ///< is_first_microbatch, as passed to forward
};

/// beta of a fused write of `parameter` on `rank`, issued now.
Beta choose_beta(Job& job, std::int32_t parameter, Rank rank, Producer producer, Captured captured);

}  // namespace shardcheck
