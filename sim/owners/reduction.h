// What all owners do around a collective: the scale of the loss, the reductions over the group and over the
// outer groups, and the hand-over to the consumer.
#pragma once

#include <functional>

#include "sim/planner/job.h"

namespace shardcheck {

/// The owner counts the parameter as ready, on all ranks that have it (READY).
void count_ready(Job& job, std::int32_t parameter);

/// The view of one bucket on every rank, whole and each rank's own slice.
struct BucketViews {
  const OwnerBucket& bucket;
  View whole;

  /// The slice with that number (Job::slice_of).
  View slice(std::int32_t number) const {
    const std::int64_t part = bucket.slice();
    return {whole.buffer, whole.offset + number * part, part};
  }
};

/// SCALE of contributions that are not reduced yet (mean loss only), then LAUNCH on `stream`.
void scale_and_reduce(Job& job, const BucketViews& views, Stream stream);

/// A range that every rank holds at its own place.
using RankView = std::function<View(Rank)>;

/// The sum over the outer groups of what each rank holds at `held`: all-reduced in place, or
/// reduce-scattered into outer_part().
void reduce_outer(Job& job, const OwnerBucket& bucket, const RankView& held, Stream stream);

/// What the rank owns of `held` after the outer reduction.
View outer_part(const Scenario& scenario, View held, Rank rank);

/// The sums over copies, token division or a late scale, clipping, FIN, and the optimizer's read of
/// the owned view of each rank.
struct HandOver {
  const OwnerBucket& bucket;
  View scaled;     ///< what a late scale touches
  RankView owned;  ///< of `scaled`
  View master;
};
/// The sums over the copies of each parameter that tensor-parallel ranks, or two stages, have: whole where
/// `hand_over.scaled` holds the whole bucket, else what each rank owns.
void sum_tensor_copies(Job& job, std::span<const HandOver> hand_overs);
void sum_tied_copies(Job& job, std::span<const HandOver> hand_overs);
void scale_late(Job& job, const HandOver& hand_over);
void clip(Job& job, const HandOver& hand_over);
void finish_bucket(Job& job, const HandOver& hand_over);
void consume_bucket(Job& job, const HandOver& hand_over);

/// All of that for the buckets of a step, in the order of finalize.
void finish_step(Job& job, std::span<const HandOver> hand_overs);

/// The parts of the bucket's parameters inside [lo, hi), as placements at `view`, which begins at lo. A
/// distributed weight has other rows on each rank, so `rank` is one of them.
void append_placements(const OwnerBucket& bucket, std::int64_t lo, std::int64_t hi, View view, Rank rank,
                       std::vector<Placement>& placements);

}  // namespace shardcheck
