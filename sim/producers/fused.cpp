// The fused producer: acquire, write with the beta of the protocol, raise the flag, return a placeholder.
#include <algorithm>

#include "core/assert.h"
#include "sim/producers/producer.h"

namespace shardcheck {

void Producers::forward(const UseSite& site) {
  const Scenario& s = job_.scenario;
  if (s.first_microbatch == FirstMicrobatch::none) return;
  for (Rank rank : site.ranks) {
    HostState& host = job_.host(rank, site.parameter);
    const auto slot = static_cast<std::size_t>(site.position * world_size(s) + rank.value);
    const bool first = s.first_microbatch == FirstMicrobatch::index ? job_.microbatch == 0 : host.armed;
    captured_[slot] = first;
    host.armed = false;
  }
}

Beta Producers::beta_of(const UseSite& site, Rank rank) {
  const Scenario& s = job_.scenario;
  const auto slot = static_cast<std::size_t>(site.position * world_size(s) + rank.value);
  Beta beta = choose_beta(job_, site.parameter, rank, site.producer, {captured_[slot] != 0});
  if (s.execution != Execution::graph || site.producer != Producer::fused) return beta;
  // A replay writes with the beta of the first execution, whatever the predicate says now.
  if (baked_[slot] == 0) {
    baked_[slot] = static_cast<char>(1 + beta.accumulate);
    return beta;
  }
  const bool baked = baked_[slot] == 2;
  return baked == beta.accumulate ? beta : Beta{baked, BetaRule::captured};
}

void Producers::write_fused(const UseSite& site, Owner& owner) {
  const std::vector<Piece> pieces = owner.acquire(site.parameter);
  SC_ASSERT(pieces.size() == 1, "a fused write into a destination that is not whole");
  const View destination = pieces.front().view;
  for (Rank rank : site.ranks)
    job_.take(job_.host(rank, site.parameter).touched ? Row::write_again : Row::write_first);
  if (has_leases(job_.scenario.strategy)) {
    job_.build.op(Acquire{}, job_.why(Purpose::none, site.parameter, site.use), Stream::compute, site.ranks)
        .on(destination);
  }
  struct Kind {
    std::int64_t tokens;
    Beta beta;
    bool operator==(const Kind&) const = default;
  };
  const auto kind_of = [&](Rank rank) {
    return Kind{tokens_of(job_.scenario, rank.value, job_.microbatch), beta_of(site, rank)};
  };
  const ScenarioParameter& parameter = job_.parameter(site.parameter);
  job_.each_group(site.ranks, kind_of, [&](Kind kind, std::span<const Rank> ranks) {
    Why why = job_.why(Purpose::write, site.parameter, site.use);
    why.rule = kind.beta.rule;
    why.deferred = site.producer == Producer::deferred;
    const InputViews in = inputs(site, kind.tokens);
    const Gemm gemm{kind.tokens, parameter.rows(), parameter.columns(), kind.beta.accumulate};
    job_.build.op(gemm, why, Stream::compute, ranks).on(in.dy).on(in.x).on(destination);
  });
  for (Rank rank : site.ranks) {
    HostState& host = job_.host(rank, site.parameter);
    host.touched = true;
    host.known_zero = false;
  }
}

void Producers::return_placeholder(const UseSite& site) {
  Why why = job_.why(Purpose::none, site.parameter, site.use);
  why.deferred = site.producer == Producer::deferred;
  job_.build.op(Flag{true}, why, Stream::compute, site.ranks);
  const bool zeroed = job_.is_mixed(site.parameter);
  job_.build.op(Return{zeroed ? Returned::zero_dummy : Returned::dummy}, why, Stream::compute, site.ranks);
  for (Rank rank : site.ranks) {
    job_.host(rank, site.parameter).added = true;
    ++job_.host(rank, site.parameter).dummies;
  }
}

void Producers::backward(const UseSite& site, Owner& owner) {
  if (site.ranks.empty()) return;
  if (site.producer == Producer::assigned) {
    job_.build.op(Return{Returned::nothing}, job_.why(Purpose::none, site.parameter, site.use),
                  Stream::compute, site.ranks);
    return queued_.push_back(site);
  }
  if (returns_gradient(site.producer, job_.scenario.write_mode)) return return_gradient(site);
  if (site.producer == Producer::deferred) {
    deferred_.push_back(site);
  } else if (job_.scenario.execution == Execution::delayed && site.producer == Producer::fused) {
    queued_.push_back(site);
  } else {
    write_fused(site, owner);
  }
  return_placeholder(site);
}

bool Producers::has_queued(std::int32_t parameter) const {
  const auto is_of = [&](const UseSite& site) { return site.parameter == parameter; };
  return std::ranges::any_of(queued_, is_of) || std::ranges::any_of(deferred_, is_of);
}

void Producers::drain(Owner& owner) {
  for (const UseSite& site : queued_) {
    if (site.producer == Producer::assigned)
      return_gradient(site);
    else
      write_fused(site, owner);
  }
  queued_.clear();
}

void Producers::drain_deferred(Owner& owner) {
  const std::int32_t now = job_.microbatch;
  for (const UseSite& site : deferred_) {
    job_.microbatch = site.microbatch;  // whose operands were kept
    write_fused(site, owner);
  }
  job_.microbatch = now;
  deferred_.clear();
}

}  // namespace shardcheck
