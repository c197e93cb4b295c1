// What both kinds of owner do around a collective: the scale of the loss, the reduction itself, and the
// hand-over to the consumer.
#pragma once

#include "sim/planner/job.h"

namespace shardcheck {

/// The view of one bucket on every rank, whole and each rank's own slice.
struct BucketViews {
  const OwnerBucket& bucket;
  View whole;

  /// The slice of the i-th rank of reduction_ranks.
  View slice(std::int32_t position) const {
    const std::int64_t part = bucket.slice();
    return {whole.buffer, whole.offset + (position % bucket.group) * part, part};
  }
};

/// SCALE of contributions that are not reduced yet (mean loss only), then LAUNCH on `stream`.
void scale_and_reduce(Job& job, const BucketViews& views, Stream stream);

/// Token division or a late scale, FIN, and the optimizer's read of the owned view of each rank.
/// `owned(position)` is the view of the i-th rank of reduction_ranks, `scaled` what a late scale touches.
struct HandOver {
  const OwnerBucket& bucket;
  View scaled;
  bool sliced = false;  ///< each rank owns its slice of `scaled`, else all of it
  View master;
};
void scale_late(Job& job, const HandOver& hand_over);
void finish_bucket(Job& job, const HandOver& hand_over);
void consume_bucket(Job& job, const HandOver& hand_over);

/// The parts of the bucket's parameters inside [lo, hi), as placements at `view`, which begins at lo.
void append_placements(const OwnerBucket& bucket, std::int64_t lo, std::int64_t hi, View view, Rank rank,
                       std::vector<Placement>& placements);

}  // namespace shardcheck
