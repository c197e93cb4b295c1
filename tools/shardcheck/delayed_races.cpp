#include "tools/shardcheck/delayed_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "properties/delays.h"
#include "properties/schedules.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

/// The host needs some ten microseconds to enqueue an op, and as long to read a range.
constexpr std::chrono::microseconds kLate{2000};

/// What the CPU says of the race: its answer is certain.
std::string certain_text(const ScheduledRace& race) {
  if (race.put_off == 0) return "no whole op can come first";
  return race.values.empty() ? "no harm" : "wrong";
}

/// The race that the GPU shows most often, else the first.
std::size_t worst(const DelayedRaces& seen) {
  const auto most = std::ranges::max_element(seen.races, {}, &DelayedRace::wrong);
  return static_cast<std::size_t>(most - seen.races.begin());
}

/// "step 0, rank 0, a[0]: 42.5 is right, NaN was read".
std::string value_text(const Finding& finding) {
  if (!finding.has_values) return finding.sentence;
  return fmt::format("step {}, rank {}, {}[{}]: {} is right, {} was read", finding.step, finding.rank,
                     finding.parameter_name, finding.element, to_text(finding.expected),
                     to_text(finding.actual));
}

}  // namespace

ExitStatus replay_delayed(Session& session, const Counterexample& given, const BackendChoice& choice,
                          std::int64_t tries) {
  const auto late = factory_of(choice, session.processes)();
  const auto certain = factory_of(BackendChoice{}, session.processes)();
  const Schedules schedules = run_schedules(*certain, given.scenario);
  std::vector<Race> races;
  for (const ScheduledRace& each : schedules.tried) races.push_back(each.race);
  const DelayedRaces seen = run_delayed(*late, given.scenario, races, {.tries = tries, .length = kLate});

  const Terminal terminal = terminal_of(session.out);
  const std::string on = describe(choice);
  const std::string undelayed =
      fmt::format("{} of {} wrong on {}", seen.wrong_undelayed, counted(tries, "run"), on);
  if (schedules.races == 0) {
    session.out << labelled(terminal, "no delay", undelayed)
                << labelled(terminal, "scenario", describe(given))
                << fmt::format("{}: no two ops race, so all schedules give one result; {}\n",
                               paint(terminal, Tone::good, "held"), on);
    return ExitStatus::held;
  }
  const std::size_t shown = worst(seen);
  session.out << finding_text(terminal, schedules.tried[shown].finding) << "\n";
  for (std::size_t i = 0; i < seen.races.size(); ++i) {
    const ScheduledRace& race = schedules.tried[i];
    session.out << labelled(
        terminal, "race",
        fmt::format("{}, op {} and op {}: {} on cpu when op {} comes first; op {} {} us late: {} of {} wrong",
                    race.finding.clause, race.race.first.value, race.race.second.value, certain_text(race),
                    race.race.second.value, race.race.first.value, kLate.count(), seen.races[i].wrong,
                    counted(tries, "run")));
  }
  session.out << labelled(terminal, "no delay", undelayed);
  if (seen.races[shown].value)
    session.out << labelled(terminal, "then", value_text(*seen.races[shown].value));
  const auto harmful =
      std::ranges::count_if(schedules.tried, [](const ScheduledRace& each) { return !each.values.empty(); });
  const auto shows =
      std::ranges::count_if(seen.races, [](const DelayedRace& each) { return each.wrong > 0; });
  session.out << labelled(terminal, "scenario", describe(given))
              << fmt::format("{}: {}; {} with a wrong value on cpu, {} on {}\n",
                             paint(terminal, Tone::bad, "BROKEN"), counted(schedules.races, "race"),
                             grouped(harmful), grouped(shows), on);
  return ExitStatus::broken;
}

}  // namespace shardcheck
