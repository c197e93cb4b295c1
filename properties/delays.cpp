#include "properties/delays.h"

#include <fmt/format.h>

#include "core/delaying.h"
#include "core/error.h"
#include "sim/executor/executor.h"
#include "sim/faults/zoo.h"
#include "sim/oracle/checker.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

/// Holds streams of a backend back for as long as it lives.
class HeldBack {
 public:
  HeldBack(Delaying& backend, const Delay& delay) : backend_(backend) { backend_.hold_back(delay); }
  ~HeldBack() { backend_.hold_back(std::nullopt); }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;

 private:
  Delaying& backend_;
};

}  // namespace

DelayedRaces run_delayed(Backend& backend, const Scenario& scenario, std::span<const Race> races,
                         const DelayOptions& options) {
  auto* const delaying = dynamic_cast<Delaying*>(&backend);
  if (delaying == nullptr)
    throw bad_input("backend", fmt::format("{} runs one op after the other, so no stream can be late; one "
                                           "whose streams run at once can, such as cuda",
                                           backend.info().name));
  Planned planned = plan_of(scenario);
  planned.plan.poison = Poison::quiet_nan;
  apply_fault(planned, scenario);
  const ScenarioData data(scenario);
  const auto tried = [&](const Delay& delay) {
    const HeldBack held(*delaying, delay);
    DelayedRace race;
    for (std::int64_t i = 0; i < options.tries; ++i) {
      ValueChecker checker(scenario, data, planned);
      RunEvents events;
      events.at_finish = [&](std::int32_t step) { checker.check(step, backend); };
      run(planned, scenario, data, backend, events);
      std::vector<Finding> values = checker.take();
      if (values.empty()) continue;
      ++race.wrong;
      if (!race.value) race.value = std::move(values.front());
    }
    return race;
  };
  DelayedRaces seen;
  // First without a delay: what a machine makes ready at the first use of an op orders the streams.
  seen.wrong_undelayed = tried({.before = OpIndex{0}, .rank = Rank{0}}).wrong;
  for (const Race& race : races)
    seen.races.push_back(tried({.before = race.first, .rank = race.rank, .length = options.length}));
  return seen;
}

}  // namespace shardcheck
