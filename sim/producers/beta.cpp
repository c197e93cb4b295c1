#include "sim/producers/beta.h"

namespace shardcheck {
namespace {

/// The correct predicate (wgrad 4.3): on zeros it adds, which is the only answer that survives capture (6.5).
Beta first_touch(const HostState& host) {
  return {host.touched || host.known_zero, BetaRule::first_touch};
}

Beta te_module(const HostState& host, FirstMicrobatch driver, Captured captured) {
  if (host.overwrite) return {false, BetaRule::strategy_flag};                  // M3
  if (driver == FirstMicrobatch::none) return {true, BetaRule::strategy_flag};  // M4
  const BetaRule rule = driver == FirstMicrobatch::index ? BetaRule::microbatch_index : BetaRule::call_order;
  return {!captured.first_microbatch, rule};  // M5, M6
}

}  // namespace

Beta choose_beta(Job& job, std::int32_t parameter, Rank rank, Producer producer, Captured captured) {
  const HostState& host = job.host(rank, parameter);
  const bool temporary = has_leases(job.scenario.strategy);
  if (producer == Producer::other) return first_touch(host);
  switch (job.scenario.write_mode) {
    case WriteMode::te_module: return te_module(host, job.scenario.first_microbatch, captured);
    case WriteMode::te_ops: return {!host.overwrite, BetaRule::strategy_flag};
    case WriteMode::r1: return {!temporary, BetaRule::strategy_flag};
    case WriteMode::r2: return {!temporary, BetaRule::constant};
    case WriteMode::r3: return {!temporary || host.touched, BetaRule::lease_flag};
    case WriteMode::r4: return {job.microbatch > 0, BetaRule::microbatch_index};
    case WriteMode::r6: return {true, BetaRule::constant};
    case WriteMode::r8:
      if (is_chained(producer, WriteMode::r8)) return {host.real > 0, BetaRule::gradient};
      break;
    case WriteMode::r5:
    case WriteMode::r7: break;
  }
  return first_touch(host);
}

}  // namespace shardcheck
