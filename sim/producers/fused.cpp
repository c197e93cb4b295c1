// The fused producer: acquire, write with the beta of the protocol, raise the flag, return a placeholder. A
// parameter without a flag gets the write alone.
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

/// Today's grouped layers read the flags of their first member and write all members by them (W17).
Beta Producers::beta_of(const UseSite& site, const UseSite& first, Rank rank) {
  const Scenario& s = job_.scenario;
  const auto slot_of = [&](const UseSite& of) {
    return static_cast<std::size_t>(of.position * world_size(s) + rank.value);
  };
  const auto choose = [&](const UseSite& of) {
    return choose_beta(job_, of.parameter, rank, of.producer, {captured_[slot_of(of)] != 0});
  };
  Beta beta = choose(site);
  if (!has_reference_hooks(s.write_mode)) {
    const Beta of_first = choose(first);
    if (of_first.accumulate != beta.accumulate) beta = {of_first.accumulate, BetaRule::other_parameter};
  }
  return captured_uses_.has(site) ? captured_uses_.baked(site, rank, beta) : beta;
}

View Producers::acquire(const UseSite& site, Owner& owner) {
  const std::vector<Piece> pieces = owner.acquire(site.parameter);
  SC_ASSERT(pieces.size() == 1, "a fused write into a destination that is not whole");
  const View destination = pieces.front().view;
  if (has_leases(job_.scenario.strategy)) {
    job_.build.op(Acquire{}, job_.why(Purpose::none, site.parameter, site.use), Stream::compute, site.ranks)
        .on(destination);
  }
  return destination;
}

/// One kernel writes all members: every beta is known before the first of them is written.
void Producers::multiply_call(CallSites call, std::span<const View> destinations) {
  std::vector<std::vector<Beta>> betas;  // a member: by its ranks
  for (const UseSite& site : call) {
    betas.emplace_back();
    for (Rank rank : site.ranks) betas.back().push_back(beta_of(site, call.front(), rank));
  }
  const bool captured = captured_uses_.has(call.front());
  if (captured) captured_uses_.begin(call);
  for (std::size_t member = 0; member < call.size(); ++member) {
    const UseSite& site = call[member];
    if (!captured) job_.await_replays({&site.parameter, 1}, Stream::compute);
    multiply(site, destinations[member], [&](Rank rank) {
      const auto at = std::ranges::find(site.ranks, rank) - site.ranks.begin();
      return betas[member][static_cast<std::size_t>(at)];
    });
  }
  if (captured) captured_uses_.end(call);
}

void Producers::write_fused(CallSites call, Owner& owner) {
  std::vector<View> destinations;
  for (const UseSite& site : call) destinations.push_back(acquire(site, owner));
  multiply_call(call, destinations);
  for (const UseSite& site : call) {
    for (Rank rank : site.ranks) {
      HostState& host = job_.host(rank, site.parameter);
      job_.take(host.touched ? Row::write_again : Row::write_first);
      host.touched = true;
      host.known_zero = false;
    }
  }
}

void Producers::add_to_gradients(CallSites call) {
  std::vector<View> held;
  for (const UseSite& site : call) held.push_back(gradient_of_autograd(job_, site.parameter));
  multiply_call(call, held);
  for (const UseSite& site : call) {
    // A late product finds param.grad in place; backward has handed nothing to autograd.
    if (job_.scenario.execution != Execution::delayed)
      job_.build.op(Return{Returned::chained}, job_.why(Purpose::none, site.parameter, site.use),
                    Stream::compute, site.ranks);
    for (Rank rank : site.ranks) ++job_.host(rank, site.parameter).real;
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

void Producers::backward(CallSites call, Owner& owner) {
  const UseSite& first = call.front();
  if (first.ranks.empty()) return;
  const bool returns = returns_gradient(first.producer, job_.scenario.write_mode);
  const bool is_assigned = first.producer == Producer::assigned;
  const bool waits = job_.scenario.execution == Execution::delayed && is_by_protocol(first.producer);
  if (waits || is_assigned)
    queued_.emplace_back(call.begin(), call.end());
  else if (first.producer == Producer::deferred)
    deferred_.push_back(first);
  else
    compute(call, owner);
  if (first.producer == Producer::distributed) return;  // which tells nobody but the owner, after all
  const bool is_silent = first.producer == Producer::unflagged || is_assigned || (waits && returns);
  for (const UseSite& site : call) {
    if (is_silent)
      return_nothing(site);
    else if (!returns)
      return_placeholder(site);
  }
}

void Producers::compute(CallSites call, Owner& owner) {
  const UseSite& first = call.front();
  if (first.producer == Producer::distributed)
    write_distributed(first, owner);
  else if (is_chained(first.producer, job_.scenario.write_mode))
    add_to_gradients(call);
  else if (returns_gradient(first.producer, job_.scenario.write_mode))
    return_gradients(call);
  else
    write_fused(call, owner);
}

void Producers::return_nothing(const UseSite& site) {
  job_.build.op(Return{Returned::nothing}, job_.why(Purpose::none, site.parameter, site.use), Stream::compute,
                site.ranks);
}

bool Producers::has_queued(std::int32_t parameter) const {
  const auto is_of = [&](const UseSite& site) { return site.parameter == parameter; };
  return std::ranges::any_of(queued_, [&](const auto& call) { return std::ranges::any_of(call, is_of); }) ||
         std::ranges::any_of(deferred_, is_of);
}

void Producers::drain(Owner& owner) {
  for (const std::vector<UseSite>& call : queued_) compute(call, owner);
  queued_.clear();
}

void Producers::drain_deferred(Owner& owner) {
  const std::int32_t now = job_.microbatch;
  for (const UseSite& site : deferred_) {
    job_.microbatch = site.microbatch;  // whose operands were kept
    write_fused({&site, 1}, owner);
  }
  job_.microbatch = now;
  deferred_.clear();
}

}  // namespace shardcheck
