// The producer of GTP distributed weights: the product into a scratch of the whole weight, the reduction over
// the ranks that share it, each rank's rows added to main_grad. No flag, and no hook of autograd: it tells
// the owner itself (wgrad 4.1, Q11).
#include <algorithm>
#include <iterator>

#include "core/integers.h"
#include "sim/producers/producer.h"

namespace shardcheck {
namespace {

/// Ranks that reduce together reduce if one of them has the use.
struct Participants {
  std::vector<Rank> all;
  std::vector<Rank> silent;  ///< those without the use, which have nothing to add
};

Participants participants_of(const Job& job, const UseSite& site) {
  Participants found;
  const auto ranks = job.ranks_of(site.parameter);
  const auto size = static_cast<std::size_t>(job.scenario.gtp);
  for (std::size_t first = 0; first < ranks.size(); first += size) {
    const auto group = ranks.subspan(first, size);
    const auto has_use = [&](Rank rank) { return std::ranges::find(site.ranks, rank) != site.ranks.end(); };
    if (std::ranges::none_of(group, has_use)) continue;
    found.all.insert(found.all.end(), group.begin(), group.end());
    std::ranges::remove_copy_if(group, std::back_inserter(found.silent), has_use);
  }
  return found;
}

/// The rows of the rank, in a view of the whole weight.
View shard_of(const Job& job, View whole, Rank rank) {
  const std::int64_t part = div_exact(whole.numel, job.scenario.gtp);
  return {whole.buffer, whole.offset + rank.value % job.scenario.gtp * part, part};
}

/// Mean loss is averaged on this axis; the owner's scale covers the ranks of one coordinate (wgrad 2.3).
Reduction reduction_of(const Scenario& s) {
  return s.loss == Loss::mean ? Reduction::average : Reduction::sum;
}

}  // namespace

void Producers::add_scratch(std::int32_t parameter) {
  const ScenarioParameter& p = job_.parameter(parameter);
  Scratch& scratch = scratches_[parameter];
  scratch.buffer =
      job_.allocate(p.name + ".scratch", BufferRole::lease_slot, job_.scenario.main_grad, p.numel());
  auto& buckets = job_.planned.plan.buckets;
  scratch.lease = static_cast<std::int32_t>(buckets.size());
  buckets.push_back({{ParamId{parameter}, Rank{-1}, {BufferId{-1}, 0, p.numel()}, 0}});
}

void Producers::write_distributed(const UseSite& site, Owner& owner) {
  const Participants ranks = participants_of(job_, site);
  const Scratch& scratch = scratches_.at(site.parameter);
  const View whole = job_.build.whole(scratch.buffer);
  const auto own = [&](std::int32_t i) {
    return shard_of(job_, whole, ranks.all[static_cast<std::size_t>(i)]);
  };
  const auto why = [&](Purpose purpose) { return job_.why(purpose, site.parameter, site.use); };
  job_.build.op(OpenLease{scratch.lease}, why(Purpose::none), Stream::compute, ranks.all).on(whole);
  multiply(site, whole, [](Rank) { return Beta{false, BetaRule::constant}; });
  if (!ranks.silent.empty())
    job_.build.op(Fill{0}, why(Purpose::zero), Stream::compute, ranks.silent).on(whole);
  job_.build.op(Return{Returned::dummy}, why(Purpose::none), Stream::compute, site.ranks);
  reduce_scratch(site, ranks.all, whole);
  job_.build.op(Add{}, why(Purpose::accumulate), Stream::compute, ranks.all).on_each(own);
  job_.build.on(owner.acquire(site.parameter).front().view);
  job_.build.op(CloseLease{}, why(Purpose::none), Stream::compute, ranks.all).on(whole);
  job_.take(Row::add);
  for (Rank rank : ranks.all) job_.host(rank, site.parameter).touched = true;
  for (Rank rank : site.ranks) ++job_.host(rank, site.parameter).dummies;
}

void Producers::reduce_scratch(const UseSite& site, std::span<const Rank> ranks, View whole) {
  const std::int32_t group = job_.scenario.gtp;
  if (group == 1) return;
  const Stream stream = job_.scenario.overlap ? Stream::reduce : Stream::compute;
  const Communicate communicate{Collective::reduce_scatter, reduction_of(job_.scenario), group};
  job_.order(Stream::compute, stream, ranks);
  job_.build.op(communicate, job_.why(Purpose::reduce_shards, site.parameter, site.use), stream, ranks)
      .on(whole)
      .on_each([&](std::int32_t i) { return shard_of(job_, whole, ranks[static_cast<std::size_t>(i)]); });
  job_.order(stream, Stream::compute, ranks);
}

}  // namespace shardcheck
