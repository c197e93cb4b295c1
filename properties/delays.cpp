#include "properties/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/assert.h"
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

/// What the consumers of a step read, all at one moment: a checker takes its time between two ranges, and
/// what is late would catch up.
class Snapshot final : public Backend {
 public:
  Snapshot(Backend& machine, const Plan& plan) : machine_(machine) {
    for (const Placement& owned : plan.owned) {
      if (!machine.holds(plan, owned.rank)) continue;
      Part& part = parts_.emplace_back(Part{owned.rank, owned.view, bytes_of(type_in(plan, owned.view)), {}});
      part.bytes.resize(static_cast<std::size_t>(owned.view.numel * part.width));
      machine.read(plan, owned.rank, owned.view, part.bytes);
    }
  }
  BackendInfo info() const override { return machine_.info(); }
  bool holds(const Plan& plan, Rank rank) const override { return machine_.holds(plan, rank); }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    const auto has = [&](const Part& part) {
      return part.rank == rank && part.view.buffer == view.buffer && part.view.offset <= view.offset &&
             view.offset + view.numel <= part.view.offset + part.view.numel;
    };
    const auto found = std::ranges::find_if(parts_, has);
    if (found == parts_.end()) return machine_.read(plan, rank, view, bytes);
    const std::int64_t first = (view.offset - found->view.offset) * found->width;
    std::memcpy(bytes.data(), found->bytes.data() + first, bytes.size());
  }
  void execute(const Plan&, OpIndex, OpIndex) override { SC_ASSERT(false, "a snapshot executes nothing"); }
  void write(const Plan&, Rank, View, std::span<const std::byte>) override {
    SC_ASSERT(false, "a snapshot is not written");
  }

 private:
  struct Part {
    Rank rank;
    View view;
    std::int64_t width;  ///< of an element, in bytes
    std::vector<std::byte> bytes;
  };
  static DType type_in(const Plan& plan, View view) { return plan.buffer(view.buffer).dtype; }

  Backend& machine_;
  std::vector<Part> parts_;
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
      events.at_finish = [&](std::int32_t step) {
        Snapshot read(backend, planned.plan);
        checker.check(step, read);
      };
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
