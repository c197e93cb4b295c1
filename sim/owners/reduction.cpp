#include "sim/owners/reduction.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/assert.h"

namespace shardcheck {
namespace {

/// The factor of SCALE before the reductions. The total is 1 / ranks for every parameter: an expert's
/// gradient already sums the tokens of its expert-parallel peers (wgrad 2.3). Averages over the group and
/// over the outer groups carry their own part, and so does a distributed weight's own.
float factor_before(const Scenario& s, const OwnerBucket& bucket) {
  if (s.loss != Loss::mean || s.scaling == Scaling::finalize) return 1;
  const double shards = bucket.shards;
  if (s.scaling == Scaling::before) return static_cast<float>(shards / s.ranks);
  return static_cast<float>(shards * bucket.group * s.outer / s.ranks);
}

float factor_late(const Scenario& s, const OwnerBucket& bucket) {
  if (s.loss == Loss::per_token) return static_cast<float>(1.0 / static_cast<double>(tokens_of_step(s)));
  return s.scaling == Scaling::finalize ? static_cast<float>(static_cast<double>(bucket.shards) / s.ranks)
                                        : 1;
}

Reduction reduction_of(const Scenario& s) {
  const bool average = s.loss == Loss::mean && s.scaling == Scaling::in_collective;
  return average ? Reduction::average : Reduction::sum;
}

}  // namespace

void count_ready(Job& job, std::int32_t parameter) {
  job.build.op(Ready{}, job.why(Purpose::none, parameter), Stream::compute, job.ranks_of(parameter));
}

void scale_and_reduce(Job& job, const BucketViews& views, Stream stream) {
  const Scenario& s = job.scenario;
  const OwnerBucket& bucket = views.bucket;
  const auto ranks = job.reduction_ranks(bucket);
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

void reduce_outer(Job& job, const OwnerBucket& bucket, const RankView& held, Stream stream) {
  const Scenario& s = job.scenario;
  const bool scatters = s.outer_mode == OuterMode::shard;
  const Communicate communicate{scatters ? Collective::reduce_scatter : Collective::all_reduce,
                                reduction_of(s), s.outer};
  const auto ranks = job.outer_ranks(bucket);
  const auto rank_at = [&](std::int32_t i) { return ranks[static_cast<std::size_t>(i)]; };
  job.build.op(communicate, job.why(Purpose::reduce_outer), stream, ranks);
  job.build.on_each([&](std::int32_t i) { return held(rank_at(i)); });
  job.build.on_each([&](std::int32_t i) { return outer_part(s, held(rank_at(i)), rank_at(i)); });
}

View outer_part(const Scenario& s, View held, Rank rank) {
  if (s.outer_mode == OuterMode::replicate) return held;
  const std::int64_t part = held.numel / s.outer;
  return {held.buffer, held.offset + rank.value % s.ranks / (s.ranks / s.outer) * part, part};
}

namespace {

/// What the rank holds of the parameter in `whole`: the range of the bucket that begins at element `first`.
View part_of(const OwnerBucket& bucket, std::int32_t parameter, View whole, std::int64_t first) {
  for (const Member& member : bucket.members) {
    if (member.parameter != parameter) continue;
    const std::int64_t lo = std::max(member.lo, first), hi = std::min(member.hi, first + whole.numel);
    if (lo < hi) return {whole.buffer, whole.offset + lo - first, hi - lo};
  }
  return {whole.buffer, whole.offset, 0};
}

/// The copy of a parameter that `hand_over` has on the rank: all of it, or what lies in the rank's slice.
View copy_on(const Job& job, const HandOver& hand_over, std::int32_t parameter, Rank rank) {
  const OwnerBucket& bucket = hand_over.bucket;
  if (hand_over.scaled.numel == bucket.numel()) return part_of(bucket, parameter, hand_over.scaled, 0);
  const View own = hand_over.owned(rank);
  const std::int64_t slice = job.slice_of(rank, bucket.expert) * bucket.slice();
  return part_of(bucket, parameter, own, slice + own.offset - hand_over.scaled.offset);
}

const HandOver* hand_over_of(std::span<const HandOver> hand_overs, const Job& job, std::int32_t parameter) {
  const std::int32_t b = job.geometry.bucket_of[static_cast<std::size_t>(parameter)];
  return b < 0 ? nullptr : &hand_overs[static_cast<std::size_t>(b)];
}

/// Ranks whose copies are added, group after group, and where those lie.
struct Copies {
  std::vector<Rank> ranks;
  std::vector<View> views;
};

/// One sum for each group of copies, which are cut alike.
void sum_copies(Job& job, std::span<const HandOver> hand_overs, Why why,
                std::span<const std::vector<Contributor>> groups) {
  std::map<std::int64_t, Copies> by_size;  // a rank's share may be smaller than another's
  for (const std::vector<Contributor>& group : groups) {
    Copies copies;
    for (const auto& [parameter, rank] : group) {
      copies.ranks.push_back(Rank{rank});
      copies.views.push_back(
          copy_on(job, *hand_over_of(hand_overs, job, parameter), parameter, copies.ranks.back()));
      SC_ASSERT(copies.views.back().numel == copies.views.front().numel,
                "copies of a parameter that are cut differently");
    }
    Copies& alike = by_size[copies.views.front().numel];
    alike.ranks.insert(alike.ranks.end(), copies.ranks.begin(), copies.ranks.end());
    alike.views.insert(alike.views.end(), copies.views.begin(), copies.views.end());
  }
  const auto group = static_cast<std::int32_t>(groups.front().size());
  for (const auto& [numel, copies] : by_size) {
    if (numel == 0) continue;
    const auto view_at = [&](std::int32_t i) { return copies.views[static_cast<std::size_t>(i)]; };
    job.build.op(Communicate{Collective::all_reduce, Reduction::sum, group}, why, Stream::compute,
                 copies.ranks);
    job.build.on_each(view_at).on_each(view_at);
  }
}

}  // namespace

void sum_tensor_copies(Job& job, std::span<const HandOver> hand_overs) {
  const Scenario& s = job.scenario;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (tensor_copies(s, p) == 1 || hand_over_of(hand_overs, job, p) == nullptr) continue;
    std::vector<std::vector<Contributor>> groups(static_cast<std::size_t>(s.ranks));
    for (const Rank rank : job.ranks_of(p))
      groups[static_cast<std::size_t>(rank.value % s.ranks)].push_back({p, rank.value});
    job.take(Row::sum_tensor);
    sum_copies(job, hand_overs, job.why(Purpose::reduce_tensor, p), groups);
  }
}

void sum_tied_copies(Job& job, std::span<const HandOver> hand_overs) {
  const Scenario& s = job.scenario;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    const std::int32_t first = job.parameter(p).tied_to;
    if (first < 0 || hand_over_of(hand_overs, job, p) == nullptr) continue;
    std::vector<std::vector<Contributor>> pairs;
    for (std::size_t r = 0; r < job.ranks_of(p).size(); ++r)
      pairs.push_back({{first, job.ranks_of(first)[r].value}, {p, job.ranks_of(p)[r].value}});
    job.take(Row::sum_tied);
    sum_copies(job, hand_overs, job.why(Purpose::reduce_tied, p), pairs);
  }
}

void scale_late(Job& job, const HandOver& hand_over) {
  const float factor = factor_late(job.scenario, hand_over.bucket);
  if (factor == 1) return;
  job.take(Row::divide);
  const auto ranks = job.reduction_ranks(hand_over.bucket);
  job.build.op(Scale{factor}, job.why(Purpose::divide), Stream::compute, ranks).on(hand_over.scaled);
}

void clip(Job& job, const HandOver& hand_over) {
  if (job.scenario.clip == 0) return;
  const auto ranks = job.reduction_ranks(hand_over.bucket);
  job.take(Row::clip);
  job.build.op(Scale{std::ldexp(1.0f, -job.scenario.clip)}, job.why(Purpose::clip), Stream::compute, ranks)
      .on(hand_over.scaled);
}

void finish_bucket(Job& job, const HandOver& hand_over) {
  const auto ranks = job.reduction_ranks(hand_over.bucket);
  job.take(Row::finish);
  job.build.op(Finish{}, job.why(Purpose::none), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return hand_over.owned(ranks[static_cast<std::size_t>(i)]); });
}

void consume_bucket(Job& job, const HandOver& hand_over) {
  if (is_skipped(job.scenario, job.step)) return;
  const auto ranks = job.reduction_ranks(hand_over.bucket);
  job.build.op(SgdStep{optimizer_rate(job.scenario)}, job.why(Purpose::consume), Stream::compute, ranks);
  job.build.on_each([&](std::int32_t i) { return hand_over.owned(ranks[static_cast<std::size_t>(i)]); });
  job.build.on(hand_over.master);
}

void finish_step(Job& job, std::span<const HandOver> hand_overs) {
  if (job.scenario.tensor > 1) sum_tensor_copies(job, hand_overs);
  if (job.scenario.stages > 1) sum_tied_copies(job, hand_overs);
  for (const HandOver& hand_over : hand_overs) scale_late(job, hand_over);
  for (const HandOver& hand_over : hand_overs) clip(job, hand_over);
  for (const HandOver& hand_over : hand_overs) finish_bucket(job, hand_over);
  job.planned.finishes.push_back(OpIndex{static_cast<std::int32_t>(job.planned.plan.ops.size())});
  for (const HandOver& hand_over : hand_overs) consume_bucket(job, hand_over);
}

void append_placements(const OwnerBucket& bucket, std::int64_t lo, std::int64_t hi, View view, Rank rank,
                       std::vector<Placement>& placements) {
  for (const Member& member : bucket.members) {
    const std::int64_t from = std::max(lo, member.lo), to = std::min(hi, member.hi);
    if (from >= to) continue;
    SC_ASSERT(bucket.shards == 1 || rank.value >= 0, "rows that no two ranks have at one place");
    const std::int64_t shard = rank.value % bucket.shards * (member.hi - member.lo);
    placements.push_back({ParamId{member.parameter},
                          rank,
                          {view.buffer, view.offset + from - lo, to - from},
                          shard + member.first + from - member.lo});
  }
}

}  // namespace shardcheck
