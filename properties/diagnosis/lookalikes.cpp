#include "properties/diagnosis/lookalikes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMost = 5;

/// Parts of an FP8 life that one has and the other has not.
int difference_in_life(const std::optional<Fp8Training>& a, const std::optional<Fp8Training>& b) {
  if (!a || !b) return 2 * (a.has_value() != b.has_value());
  return (a->recipe != b->recipe) + (a->transposes != b->transposes) + (a->recompute != b->recompute) +
         (a->skipped_steps.empty() != b->skipped_steps.empty()) +
         (a->evaluations.empty() != b->evaluations.empty()) +
         ((a->reload_after < 0) != (b->reload_after < 0));
}

/// Events of the loop that one has and the other has not.
int difference_in_loop(const Scenario& a, const Scenario& b) {
  const auto thaws = [](const Scenario& s) {
    return std::ranges::any_of(s.parameters, [](const ScenarioParameter& p) { return p.thaws_at > 0; });
  };
  return ((a.loop.recompute == Recomputed{}) != (b.loop.recompute == Recomputed{})) +
         (a.loop.aborts.empty() != b.loop.aborts.empty()) +
         (a.loop.resumes.empty() != b.loop.resumes.empty()) + (thaws(a) != thaws(b));
}

}  // namespace

int difference_in_kind(const Scenario& a, const Scenario& b) {
  const auto has = [](const Scenario& s, auto predicate) { return std::ranges::any_of(s.uses, predicate); };
  const auto unfused = [](const ScenarioUse& use) { return use.producer == Producer::unfused; };
  const auto fused = [](const ScenarioUse& use) { return use.producer == Producer::fused; };
  const auto holds_experts = [](const Scenario& s) {
    return std::ranges::any_of(s.parameters, [](const ScenarioParameter& p) { return p.groups > 1; });
  };
  return (a.strategy != b.strategy) + (has_leases(a.strategy) != has_leases(b.strategy)) +
         (a.write_mode != b.write_mode) + (a.first_microbatch != b.first_microbatch) +
         (a.execution != b.execution) + (a.zeroing != b.zeroing) + (a.overlap != b.overlap) +
         (a.loss != b.loss) + (a.scaling != b.scaling) + (a.comm != b.comm) + (a.main_grad != b.main_grad) +
         ((a.ranks == 1) != (b.ranks == 1)) + ((a.expert_parallel == 1) != (b.expert_parallel == 1)) +
         ((a.tensor == 1) != (b.tensor == 1)) + ((a.stages == 1) != (b.stages == 1)) +
         (has_distributed(a) != has_distributed(b)) + ((a.outer == 1) != (b.outer == 1)) +
         ((a.microbatches == 1) != (b.microbatches == 1)) + (a.silent.empty() != b.silent.empty()) +
         (a.token_counts.empty() != b.token_counts.empty()) + (has(a, unfused) != has(b, unfused)) +
         (has(a, fused) != has(b, fused)) +
         ((a.uses.size() > a.parameters.size()) != (b.uses.size() > b.parameters.size())) +
         (has_grouped_calls(a) != has_grouped_calls(b)) + (holds_experts(a) != holds_experts(b)) +
         difference_in_life(a.fp8, b.fp8) + difference_in_loop(a, b);
}

std::vector<std::string> lookalikes(const Scenario& scenario, const Finding& finding,
                                    std::span<const Fault> faults) {
  std::vector<std::pair<int, std::string>> ranked;
  for (const Fault& fault : faults) {
    if (fault.clause != finding.clause) continue;
    // The fault that is switched on is no lookalike of itself, and what it needs is what differs least.
    if (fault.id == scenario.fault) continue;
    Scenario typical = scenario;
    if (fault.prepare != nullptr) fault.prepare(typical);
    ranked.emplace_back(difference_in_kind(scenario, typical),
                        fmt::format("{} ({}): {}", fault.id, fault.source, fault.sentence));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<int, std::string>::first);
  if (ranked.size() > kMost) ranked.resize(kMost);
  std::vector<std::string> texts;
  for (auto& [rank, text] : ranked) texts.push_back(std::move(text));
  return texts;
}

}  // namespace shardcheck
