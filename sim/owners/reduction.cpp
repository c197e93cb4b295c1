#include "sim/owners/reduction.h"

#include <algorithm>

namespace shardcheck {
namespace {

/// The factor of SCALE before the reduction. The total is 1 / ranks for every parameter: an expert's gradient
/// already sums the tokens of its expert-parallel peers (wgrad 2.3).
float factor_before(const Scenario& s, const OwnerBucket& bucket) {
  if (s.loss != Loss::mean || s.scaling == Scaling::finalize) return 1;
  if (s.scaling == Scaling::before) return static_cast<float>(1.0 / s.ranks);
  return static_cast<float>(static_cast<double>(bucket.group) / s.ranks);
}

float factor_late(const Scenario& s) {
  if (s.loss == Loss::per_token) return static_cast<float>(1.0 / static_cast<double>(tokens_of_step(s)));
  return s.scaling == Scaling::finalize ? static_cast<float>(1.0 / s.ranks) : 1;
}

}  // namespace

void scale_and_reduce(Job& job, const BucketViews& views, Stream stream) {
  const Scenario& s = job.scenario;
  const OwnerBucket& bucket = views.bucket;
  const auto ranks = job.reduction_ranks(bucket.expert);
  const float factor = factor_before(s, bucket);
  if (factor != 1) job.build.op(Scale{factor}, job.why(Purpose::scale), stream, ranks).on(views.whole);
  if (bucket.group == 1) return;
  const bool average = s.loss == Loss::mean && s.scaling == Scaling::in_collective;
  const bool scatters = shards_gradient(s.strategy);
  Communicate communicate{scatters ? Collective::reduce_scatter : Collective::all_reduce,
                          average ? Reduction::average : Reduction::sum, bucket.group};
  job.build.op(communicate, job.why(Purpose::reduce), stream, ranks).on(views.whole);
  job.build.on_each([&](std::int32_t i) { return scatters ? views.slice(i) : views.whole; });
}

namespace {

View owned_view(const HandOver& hand_over, std::int32_t position) {
  const BucketViews views{hand_over.bucket, hand_over.scaled};
  return hand_over.sliced ? views.slice(position) : hand_over.scaled;
}

}  // namespace

void scale_late(Job& job, const HandOver& hand_over) {
  const float factor = factor_late(job.scenario);
  if (factor == 1) return;
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.build.op(Scale{factor}, job.why(Purpose::divide), Stream::compute, ranks).on(hand_over.scaled);
}

void finish_bucket(Job& job, const HandOver& hand_over) {
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.build.op(Finish{}, job.why(Purpose::none), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return owned_view(hand_over, i); });
}

void consume_bucket(Job& job, const HandOver& hand_over) {
  if (is_skipped(job.scenario, job.step)) return;
  const auto ranks = job.reduction_ranks(hand_over.bucket.expert);
  job.build.op(SgdStep{optimizer_rate(job.scenario)}, job.why(Purpose::consume), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return owned_view(hand_over, i); }).on(hand_over.master);
}

void append_placements(const OwnerBucket& bucket, std::int64_t lo, std::int64_t hi, View view, Rank rank,
                       std::vector<Placement>& placements) {
  for (const Member& member : bucket.members) {
    const std::int64_t from = std::max(lo, member.lo), to = std::min(hi, member.hi);
    if (from >= to) continue;
    placements.push_back({ParamId{member.parameter},
                          rank,
                          {view.buffer, view.offset + from - lo, to - from},
                          from - member.lo});
  }
}

}  // namespace shardcheck
