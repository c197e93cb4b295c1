#include "sim/owners/reduction.h"

#include <algorithm>

namespace shardcheck {
namespace {

/// The factor of SCALE before the reductions. The total is 1 / ranks for every parameter: an expert's
/// gradient already sums the tokens of its expert-parallel peers (wgrad 2.3). Averages over the group and
/// over the outer groups carry their own part.
float factor_before(const Scenario& s, const OwnerBucket& bucket) {
  if (s.loss != Loss::mean || s.scaling == Scaling::finalize) return 1;
  if (s.scaling == Scaling::before) return static_cast<float>(1.0 / s.ranks);
  return static_cast<float>(static_cast<double>(bucket.group) * s.outer / s.ranks);
}

float factor_late(const Scenario& s) {
  if (s.loss == Loss::per_token) return static_cast<float>(1.0 / static_cast<double>(tokens_of_step(s)));
  return s.scaling == Scaling::finalize ? static_cast<float>(1.0 / s.ranks) : 1;
}

Reduction reduction_of(const Scenario& s) {
  const bool average = s.loss == Loss::mean && s.scaling == Scaling::in_collective;
  return average ? Reduction::average : Reduction::sum;
}

}  // namespace

void scale_and_reduce(Job& job, const BucketViews& views, Stream stream) {
  const Scenario& s = job.scenario;
  const OwnerBucket& bucket = views.bucket;
  const auto ranks = job.reduction_ranks(bucket.expert);
  const float factor = factor_before(s, bucket);
  if (factor != 1) job.build.op(Scale{factor}, job.why(Purpose::scale), stream, ranks).on(views.whole);
  if (bucket.group == 1) return job.take(Row::no_collective);
  const bool scatters = shards_gradient(s.strategy);
  const Communicate communicate{scatters ? Collective::reduce_scatter : Collective::all_reduce,
                                reduction_of(s), bucket.group};
  job.build.op(communicate, job.why(Purpose::reduce), stream, ranks).on(views.whole);
  job.build.on_each([&](std::int32_t i) {
    const Rank rank = ranks[static_cast<std::size_t>(i)];
    return scatters ? views.slice(job.slice_of(rank, bucket.expert)) : views.whole;
  });
}

void reduce_outer(Job& job, const RankView& held, Stream stream) {
  const Scenario& s = job.scenario;
  const bool scatters = s.outer_mode == OuterMode::shard;
  const Communicate communicate{scatters ? Collective::reduce_scatter : Collective::all_reduce,
                                reduction_of(s), s.outer};
  const auto rank_at = [&](std::int32_t i) { return job.outer_ranks[static_cast<std::size_t>(i)]; };
  job.build.op(communicate, job.why(Purpose::reduce_outer), stream, job.outer_ranks);
  job.build.on_each([&](std::int32_t i) { return held(rank_at(i)); });
  job.build.on_each([&](std::int32_t i) { return outer_part(s, held(rank_at(i)), rank_at(i)); });
}

View outer_part(const Scenario& s, View held, Rank rank) {
  if (s.outer_mode == OuterMode::replicate) return held;
  const std::int64_t part = held.numel / s.outer;
  return {held.buffer, held.offset + rank.value / (s.ranks / s.outer) * part, part};
}

void scale_late(Job& job, const HandOver& hand_over) {
  const float factor = factor_late(job.scenario);
  if (factor == 1) return;
  job.take(Row::divide);
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.build.op(Scale{factor}, job.why(Purpose::divide), Stream::compute, ranks).on(hand_over.scaled);
}

void finish_bucket(Job& job, const HandOver& hand_over) {
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.take(Row::finish);
  job.build.op(Finish{}, job.why(Purpose::none), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return hand_over.owned(ranks[static_cast<std::size_t>(i)]); });
}

void consume_bucket(Job& job, const HandOver& hand_over) {
  if (is_skipped(job.scenario, job.step)) return;
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.build.op(SgdStep{optimizer_rate(job.scenario)}, job.why(Purpose::consume), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return hand_over.owned(ranks[static_cast<std::size_t>(i)]); });
  job.build.on(hand_over.master);
}

void finish_step(Job& job, std::span<const HandOver> hand_overs) {
  for (const HandOver& hand_over : hand_overs) scale_late(job, hand_over);
  for (const HandOver& hand_over : hand_overs) finish_bucket(job, hand_over);
  job.planned.finishes.push_back(OpIndex{static_cast<std::int32_t>(job.planned.plan.ops.size())});
  for (const HandOver& hand_over : hand_overs) consume_bucket(job, hand_over);
}

void append_placements(const OwnerBucket& bucket, std::int64_t lo, std::int64_t hi, View view, Rank rank,
                       std::vector<Placement>& placements) {
  for (const Member& member : bucket.members) {
    const std::int64_t from = std::max(lo, member.lo), to = std::min(hi, member.hi);
    if (from >= to) continue;
    placements.push_back({ParamId{member.parameter},
                          rank,
                          {view.buffer, view.offset + from - lo, to - from},
                          member.first + from - member.lo});
  }
}

}  // namespace shardcheck
