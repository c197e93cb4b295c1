#include "properties/audit/case_shrinks.h"

#include <algorithm>
#include <utility>

#include "properties/audit/random_case.h"
#include "properties/generate/complexity.h"
#include "properties/generate/shrinks.h"

namespace shardcheck {
namespace {

/// The scenario in the words that matter to a framework: two that differ elsewhere would run the same.
Scenario as_run(Scenario s) {
  const Scenario preset;
  s.name.clear();
  s.seed = preset.seed;
  s.strategy = preset.strategy;
  s.bucket_size = preset.bucket_size;
  s.overlap = preset.overlap;
  s.slots = preset.slots;
  s.write_mode = preset.write_mode;
  s.scaling = preset.scaling;
  for (ScenarioUse& use : s.uses) use.unit = -1;
  return s;
}

/// The scenario first, then how many switches are not at their default: what shrinks follow has an end.
std::pair<Complexity, std::int64_t> measure_of(const AuditCase& c) {
  const AuditAdapter &a = c.adapter, preset;
  const std::int64_t switches = (a.sync != preset.sync) + (a.all_reduce != preset.all_reduce) +
                                a.zeroes_gradients + !a.reshards + a.finds_unused + a.bucket_view +
                                a.small_buckets + a.overlap + (a.loss_division != preset.loss_division) +
                                (a.strategy != preset.strategy) + (a.replicas != preset.replicas);
  return {complexity_of(as_run(c.scenario)), switches};
}

}  // namespace

std::vector<AuditCase> shrinks(const AuditCase& audited) {
  std::vector<AuditCase> found;
  const auto measure = measure_of(audited);
  const auto add = [&](AuditCase c) {
    c.scenario = as_run(std::move(c.scenario));
    if (!(measure_of(c) < measure) || !refusal(c).empty() || std::ranges::find(found, c) != found.end())
      return;
    found.push_back(std::move(c));
  };
  const AuditAdapter preset;
  const auto set = [&](auto AuditAdapter::*field) {
    if (audited.adapter.*field == preset.*field) return;
    AuditCase c = audited;
    c.adapter.*field = preset.*field;
    add(std::move(c));
  };
  for (Scenario& s : shrinks(audited.scenario)) {
    if (s.ranks == audited.scenario.ranks) add({std::move(s), audited.adapter, audited.probing});
  }
  set(&AuditAdapter::sync);
  set(&AuditAdapter::all_reduce);
  set(&AuditAdapter::zeroes_gradients);
  set(&AuditAdapter::reshards);
  set(&AuditAdapter::finds_unused);
  set(&AuditAdapter::bucket_view);
  set(&AuditAdapter::small_buckets);
  set(&AuditAdapter::overlap);
  set(&AuditAdapter::loss_division);
  set(&AuditAdapter::strategy);
  set(&AuditAdapter::replicas);
  return found;
}

}  // namespace shardcheck
