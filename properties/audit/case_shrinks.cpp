#include "properties/audit/case_shrinks.h"

#include <algorithm>

#include "properties/audit/random_case.h"
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

/// One type for all, with what the adapter ties to it.
void set_types(AuditCase& c, DType type) {
  c.scenario.main_grad = DType::f32;
  c.scenario.comm = type;
  for (ScenarioParameter& p : c.scenario.parameters) p.dtype = type;
}

}  // namespace

std::vector<AuditCase> shrinks(const AuditCase& audited) {
  std::vector<AuditCase> found;
  const auto add = [&](AuditCase c) {
    c.scenario = as_run(std::move(c.scenario));
    if (c == audited || !refusal(c).empty() || std::ranges::find(found, c) != found.end()) return;
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
  if (audited.scenario.parameters.front().dtype != DType::f32) {
    AuditCase c = audited;
    set_types(c, DType::f32);
    add(std::move(c));
  }
  set(&AuditAdapter::sync);
  set(&AuditAdapter::all_reduce);
  set(&AuditAdapter::zeroes_gradients);
  set(&AuditAdapter::reshards);
  set(&AuditAdapter::finds_unused);
  set(&AuditAdapter::bucket_view);
  set(&AuditAdapter::small_buckets);
  set(&AuditAdapter::strategy);
  set(&AuditAdapter::replicas);
  return found;
}

}  // namespace shardcheck
