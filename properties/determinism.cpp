#include "properties/determinism.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "core/error.h"
#include "properties/diagnosis/subject.h"
#include "properties/evidence.h"
#include "properties/generate/soundness.h"
#include "properties/gradient_bits.h"
#include "sim/executor/executor.h"
#include "sim/planner/planner.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

enum class Pace : std::uint8_t { whole, op_by_op };

/// A run of the scenario, with its fault.
class Run {
 public:
  Run(Backend& backend, const Scenario& scenario, Pace pace, Reals whose)
      : scenario_(scenario),
        planned_(rewritten_plan(scenario, Poison::quiet_nan)),
        bits_(scenario_, planned_) {
    ScenarioData data(scenario_);
    data.use_reals(whose);
    RunEvents events;
    events.at_finish = [&](std::int32_t step) { bits_.read(step, backend); };
    if (pace == Pace::op_by_op) events.before_op = [](OpIndex) {};
    run(planned_, scenario_, data, backend, events);
  }
  Run(const Run&) = delete;

  const GradientBits& bits() const { return bits_; }

 private:
  Scenario scenario_;
  Planned planned_;
  GradientBits bits_;
};

bool is_possible(const Scenario& scenario) {
  try {
    validate(scenario, "relation");
    return is_sound(scenario);
  } catch (const Error&) {
    return false;
  }
}

/// A rank and a parameter: the step, microbatch, use and purpose of every write, in order.
using WriteOrder = std::map<std::array<std::int32_t, 2>, std::vector<std::array<std::int32_t, 4>>>;
WriteOrder write_order(const Scenario& scenario) {
  const Planned planned = plan_of(scenario);
  WriteOrder order;
  for (const Op& op : planned.plan.ops) {
    if (op.why.purpose != Purpose::write && op.why.purpose != Purpose::fold) continue;
    for (const Rank rank : planned.plan.ranks_of(op)) {
      order[{rank.value, op.why.parameter.value}].push_back(
          {op.why.step, op.why.microbatch, op.why.use, static_cast<std::int32_t>(op.why.purpose)});
    }
  }
  return order;
}

bool is_power_of_two(std::int32_t n) {
  return std::has_single_bit(static_cast<std::uint32_t>(n));
}

/// fp16 has room for sums of reals, but not for all of their scaled bits.
bool may_underflow(const Scenario& s) {
  return s.main_grad == DType::f16 || s.comm == DType::f16;
}

}  // namespace

std::optional<Scenario> executed_eagerly(const Scenario& scenario) {
  Scenario other = scenario;
  other.execution = Execution::eager;
  if (scenario.execution == Execution::eager || !is_possible(other)) return std::nullopt;
  if (write_order(scenario) != write_order(other)) return std::nullopt;
  return other;
}

std::optional<Scenario> scaled_otherwise(const Scenario& scenario, Scaling scaling) {
  if (scaling == scenario.scaling || scenario.loss != Loss::mean) return std::nullopt;
  if (!is_power_of_two(scenario.ranks) || may_underflow(scenario)) return std::nullopt;
  Scenario other = scenario;
  other.scaling = scaling;
  if (!is_possible(other)) return std::nullopt;
  return other;
}

std::optional<AlikeRanks> alike_ranks(const Scenario& s) {
  constexpr std::int32_t kMost = 4;
  const std::int32_t inner = s.ranks / s.outer;
  const bool doubles =
      is_power_of_two(inner) && is_power_of_two(s.outer) && std::max(inner, s.outer) <= kMost;
  // Partial sums that wait for the outer groups are in the wire's type, which one rank alone does not need.
  const bool holds_partials = s.strategy == Strategy::fsdp2 && s.outer > 1 && s.comm != s.main_grad;
  if (s.loss != Loss::mean || s.expert_parallel > 1 || s.fp8) return std::nullopt;
  if (s.ranks == 1 || !doubles || may_underflow(s) || holds_partials) return std::nullopt;
  AlikeRanks alike{.many = s, .one = s};
  std::erase_if(alike.many.silent, [](const Silence& silence) { return silence.rank > 0; });
  for (Silence& silence : alike.many.silent) silence.rank = -1;
  alike.many.token_counts.clear();
  for (const TokenCount& count : s.token_counts) {
    if (count.rank != 0) continue;
    for (std::int32_t r = 0; r < s.ranks; ++r) {
      alike.many.token_counts.push_back(count);
      alike.many.token_counts.back().rank = r;
    }
  }
  alike.one = alike.many;
  alike.one.ranks = alike.one.outer = alike.one.gtp = 1;
  alike.one.outer_mode = OuterMode::replicate;
  alike.one.outer_sync = Sync::last;
  std::erase_if(alike.one.token_counts, [](const TokenCount& count) { return count.rank > 0; });
  if (!is_possible(alike.many) || !is_possible(alike.one)) return std::nullopt;
  return alike;
}

std::vector<Finding> determinism(Backend& backend, const Scenario& scenario) {
  // Every run is made whatever another showed: processes that share a backend must not part.
  std::vector<Finding> findings = examine(backend, scenario, Poison::quiet_nan).findings;
  const bool is_wrong_anyway = !findings.empty();
  const Run own(backend, scenario, Pace::whole, Reals::of_its_own);
  std::vector<Finding> found = own.bits().of_replicas();
  const auto add = [&](const Run& one, const Run& other, const std::string& sentence) {
    for (Finding& finding : one.bits().differences(other.bits(), sentence))
      found.push_back(std::move(finding));
  };
  add(own, Run(backend, scenario, Pace::op_by_op, Reals::of_its_own),
      "a second run of the same plan leaves other bits");
  if (const auto eager = executed_eagerly(scenario)) {
    add(own, Run(backend, *eager, Pace::whole, Reals::of_its_own),
        fmt::format(
            "{} execution leaves other bits than eager, although both write every destination in one order",
            name_of(scenario.execution)));
  }
  for (const Scaling scaling : {Scaling::before, Scaling::in_collective, Scaling::finalize}) {
    const auto other = scaled_otherwise(scenario, scaling);
    if (!other) continue;
    add(own, Run(backend, *other, Pace::whole, Reals::of_its_own),
        fmt::format("the scale, a power of two, leaves other bits with scaling \"{}\" than with \"{}\"",
                    name_of(scenario.scaling), name_of(scaling)));
  }
  if (const auto alike = alike_ranks(scenario)) {
    add(Run(backend, alike->many, Pace::whole, Reals::of_one_rank),
        Run(backend, alike->one, Pace::whole, Reals::of_one_rank),
        "the mean of ranks with the same data has other bits than one of them alone");
  }
  return is_wrong_anyway ? findings : found;
}

}  // namespace shardcheck
