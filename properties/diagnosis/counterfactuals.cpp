#include "properties/diagnosis/counterfactuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "properties/evidence.h"
#include "properties/property.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/grouped_calls.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

using Clauses = std::set<std::string>;

Clauses clauses_of(const std::vector<Finding>& findings) {
  Clauses clauses;
  for (const Finding& finding : findings) clauses.insert(finding.clause);
  return clauses;
}

/// How a scenario shows a clause: by one run of it, or by a property that compares several.
class Witness {
 public:
  Witness(Backend& backend, Poison poison) : backend_(backend), poison_(poison) {}

  Clauses broken(const Scenario& scenario) const {
    return clauses_of(relation_ == nullptr ? examine(backend_, scenario, poison_).findings
                                           : relation_->check(backend_, scenario));
  }
  /// What the scenario breaks, once a way is found that shows the clause; without it where there is none.
  Clauses find(const Scenario& scenario, std::string_view clause) {
    Clauses broken = this->broken(scenario);
    for (const Property& property : properties()) {
      if (broken.contains(std::string(clause))) break;
      if (property.check == nullptr || std::ranges::count(property.clauses, clause) == 0) continue;
      relation_ = &property;
      broken = this->broken(scenario);
    }
    return broken;
  }

 private:
  Backend& backend_;
  Poison poison_;
  const Property* relation_ = nullptr;
};

bool is_valid(const Scenario& scenario) {
  try {
    validate(scenario, "a flipped scenario");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Entries that speak of ranks and microbatches which are gone.
void drop_what_is_gone(Scenario& s) {
  std::erase_if(s.silent, [&](const Silence& silence) {
    return silence.rank >= s.ranks || silence.microbatch >= s.microbatches || silence.step >= s.steps;
  });
  std::erase_if(s.token_counts, [&](const TokenCount& count) {
    return count.rank >= s.ranks || count.microbatch >= s.microbatches;
  });
  mend_loop(s);
  mend_calls(s);
  if (!s.fp8) return;
  const auto is_gone = [&](std::int32_t step) { return step >= s.steps; };
  std::erase_if(s.fp8->skipped_steps, is_gone);
  std::erase_if(s.fp8->evaluations, is_gone);
  s.fp8->reload_after = std::min(s.fp8->reload_after, s.steps - 1);
}

/// The producers of the parameter's uses, in the other order.
void reverse_uses(Scenario& s, std::int32_t parameter) {
  std::vector<ScenarioUse*> of_parameter;
  for (ScenarioUse& use : s.uses) {
    if (use.parameter == parameter) of_parameter.push_back(&use);
  }
  for (std::size_t i = 0, j = of_parameter.size(); i + 1 < j; ++i)
    std::swap(*of_parameter[i], *of_parameter[--j]);
}

void keep_first_use(Scenario& s, std::int32_t parameter) {
  bool seen = false;
  std::erase_if(s.uses, [&](const ScenarioUse& use) {
    const bool later = use.parameter == parameter && seen;
    seen |= use.parameter == parameter;
    return later;
  });
}

void set_write_mode(Scenario& s, WriteMode mode) {
  s.write_mode = mode;
  if (mode != WriteMode::te_module) s.first_microbatch = FirstMicrobatch::none;
}

/// Collects flips; one that changes nothing, or leaves nothing valid, is none.
class Flips {
 public:
  explicit Flips(const Scenario& scenario) : scenario_(scenario) {}

  template <class Change>
  void add(std::string text, Change change) {
    Flip flip{std::move(text), scenario_};
    change(flip.scenario);
    drop_what_is_gone(flip.scenario);
    if (flip.scenario != scenario_ && is_valid(flip.scenario)) flips_.push_back(std::move(flip));
  }
  std::vector<Flip> take() { return std::move(flips_); }

 private:
  const Scenario& scenario_;
  std::vector<Flip> flips_;
};

void add_protocol(const Scenario& s, Flips& flips) {
  flips.add(fmt::format("without the fault {}", s.fault), [](Scenario& f) { f.fault.clear(); });
  for (const WriteMode mode : {WriteMode::r5, WriteMode::r6, WriteMode::r7}) {
    flips.add(fmt::format("beta by {} instead of {}", name_of(mode), name_of(s.write_mode)),
              [&](Scenario& f) { set_write_mode(f, mode); });
  }
  flips.add("the owner zeroes", [](Scenario& f) { f.zeroing = true; });
  flips.add("nobody drives is_first_microbatch",
            [](Scenario& f) { f.first_microbatch = FirstMicrobatch::none; });
}

void add_uses(const Scenario& s, std::int32_t parameter, Flips& flips) {
  if (parameter >= 0) {
    flips.add("uses in the other order", [&](Scenario& f) { reverse_uses(f, parameter); });
    flips.add("one use only", [&](Scenario& f) { keep_first_use(f, parameter); });
  }
  flips.add("no gradient deferred or assigned later", [](Scenario& f) {
    for (ScenarioUse& use : f.uses) {
      if (use.producer == Producer::deferred) use.producer = Producer::fused;
      if (use.producer == Producer::assigned) use.producer = Producer::unfused;
    }
  });
  flips.add("every fused use raises the flag", [](Scenario& f) {
    for (ScenarioUse& use : f.uses) {
      if (use.producer == Producer::unflagged) use.producer = Producer::fused;
    }
  });
  flips.add("distributed weights written like others", [](Scenario& f) {
    for (ScenarioUse& use : f.uses) {
      if (use.producer == Producer::distributed) use.producer = Producer::fused;
    }
  });
  flips.add(fmt::format("eager execution instead of {}", name_of(s.execution)),
            [](Scenario& f) { f.execution = Execution::eager; });
  flips.add("no overlap of reductions", [](Scenario& f) { f.overlap = false; });
  flips.add("experts written by calls of their own", [](Scenario& f) {
    for (ScenarioUse& use : f.uses) use.grouped = false;
  });
  flips.add("every parameter used everywhere", [](Scenario& f) { f.silent.clear(); });
  flips.add("equal tokens everywhere", [](Scenario& f) {
    f.token_counts.clear();
    f.tokens = std::max<std::int64_t>(f.tokens, 1);
  });
}

void add_numerics(const Scenario& s, Flips& flips) {
  flips.add(fmt::format("wire {} like main_grad", name_of(s.main_grad)),
            [](Scenario& f) { f.comm = f.main_grad; });
  flips.add("no clipping", [](Scenario& f) { f.clip = 0; });
  flips.add("scale before the reduction", [](Scenario& f) { f.scaling = Scaling::before; });
}

/// What a loop does besides going straight on, each left out.
void add_loop(const Scenario& s, Flips& flips) {
  flips.add("nothing recomputed", [](Scenario& f) { f.loop.recompute = {}; });
  flips.add("no step given up", [](Scenario& f) { f.loop.aborts.clear(); });
  flips.add("no process resumed", [](Scenario& f) { f.loop.resumes.clear(); });
  for (std::size_t p = 0; p < s.parameters.size(); ++p) {
    if (s.parameters[p].thaws_at > 0)
      flips.add(fmt::format("{} trained from the first step", s.parameters[p].name), [&](Scenario& f) {
        for (const std::int32_t mate : call_mates(f, static_cast<std::int32_t>(p)))
          f.parameters[static_cast<std::size_t>(mate)].thaws_at = 0;
      });
  }
}

/// Parts of the FP8 life, each left out.
void add_fp8(const Scenario& s, Flips& flips) {
  if (!s.fp8) return;
  flips.add("no recompute", [](Scenario& f) { f.fp8->recompute = false; });
  flips.add("no evaluations", [](Scenario& f) { f.fp8->evaluations.clear(); });
  flips.add("no skipped steps", [](Scenario& f) { f.fp8->skipped_steps.clear(); });
  flips.add("nothing saved and loaded", [](Scenario& f) { f.fp8->reload_after = -1; });
  flips.add("transposes discarded after use", [](Scenario& f) { f.fp8->transposes = Transposes::discard; });
  flips.add("weights freed after every pass", [](Scenario& f) { f.reshard = Reshard::after_forward; });
  flips.add("weights freed after every backward", [](Scenario& f) { f.reshard = Reshard::after_backward; });
  flips.add("masters from the kept initial value", [](Scenario& f) { f.fp8->masters = Masters::kept_init; });
  flips.add("weights in their own type, without FP8", [](Scenario& f) { f.fp8.reset(); });
}

void add_sizes(const Scenario& s, Flips& flips) {
  flips.add("one microbatch", [](Scenario& f) { f.microbatches = 1; });
  flips.add("one step", [](Scenario& f) { f.steps = 1; });
  for (int i = 0; i < kStrategies; ++i) {
    const auto strategy = static_cast<Strategy>(i);
    flips.add(fmt::format("strategy {} instead of {}", name_of(strategy), name_of(s.strategy)),
              [&](Scenario& f) { f.strategy = strategy; });
  }
  flips.add("one pipeline stage", [](Scenario& f) {
    f.stages = 1;
    for (ScenarioParameter& p : f.parameters) {
      p.stage = 0;
      p.tied_to = -1;
    }
  });
  flips.add("one tensor-parallel rank", [](Scenario& f) {
    f.tensor = 1;
    for (ScenarioParameter& p : f.parameters) p.sequence_parallel = false;
  });
  flips.add("no weight shared by ranks", [](Scenario& f) { f.gtp = 1; });
  flips.add("one outer group", [](Scenario& f) {
    f.outer = 1;
    f.outer_mode = OuterMode::replicate;
    f.outer_sync = Sync::last;
  });
  flips.add("outer groups hold replicas of all shards",
            [](Scenario& f) { f.outer_mode = OuterMode::replicate; });
  flips.add("gradients synchronised in every microbatch", [](Scenario& f) { f.sync = Sync::every; });
  flips.add("the outer reduction in the last microbatch only",
            [](Scenario& f) { f.outer_sync = Sync::last; });
  flips.add("gradients and masters in memory of the device", [](Scenario& f) { f.offload = false; });
  flips.add("group of one", [](Scenario& f) { f.ranks = f.expert_parallel = f.gtp = 1; });
  flips.add("group of two", [](Scenario& f) {
    f.ranks = 2;
    f.expert_parallel = 1;
    f.gtp = std::min(f.gtp, 2);
  });
}

/// A rewrite speaks of one kind of owner; under another there is nothing that it could break.
bool has_place_for_fault(const Scenario& scenario) {
  const Fault* fault = scenario.fault.empty() ? nullptr : find_fault(scenario.fault);
  if (fault == nullptr) return true;
  Scenario prepared = scenario;
  fault->prepare(prepared);
  return prepared.strategy == scenario.strategy;
}

}  // namespace

std::vector<Flip> flips_of(const Scenario& scenario, std::int32_t parameter) {
  Flips flips(scenario);
  add_protocol(scenario, flips);
  add_uses(scenario, parameter, flips);
  add_numerics(scenario, flips);
  add_loop(scenario, flips);
  add_fp8(scenario, flips);
  add_sizes(scenario, flips);
  return flips.take();
}

double writes_of(const Scenario& s) {
  double elements = 0;
  for (const ScenarioParameter& p : s.parameters) elements += static_cast<double>(p.numel());
  return elements * s.ranks * s.steps * (s.microbatches + 2.0);
}

std::vector<Counterfactual> counterfactuals(const Scenario& scenario, const Finding& finding, Poison poison,
                                            Backend& backend) {
  Witness witness(backend, poison);
  const Clauses before = witness.find(scenario, finding.clause);
  if (!before.contains(finding.clause)) return {};
  std::vector<Counterfactual> results;
  for (const Flip& flip : flips_of(scenario, finding.parameter)) {
    if (!has_place_for_fault(flip.scenario)) continue;  // that the fault is gone there says nothing
    const Clauses after = witness.broken(flip.scenario);
    Counterfactual result{.change = flip.change};
    for (const std::string& clause : after) {
      if (!before.contains(clause) && result.instead.empty()) result.instead = clause;
    }
    result.mends = !after.contains(finding.clause) && result.instead.empty();
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace shardcheck
