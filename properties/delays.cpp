#include "properties/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/assert.h"
#include "core/delaying.h"
#include "core/error.h"
#include "properties/state_trace.h"
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

/// The ops one after the other: when a byte of each of its ranks has been read, nothing is on its way.
void settle(Backend& backend, const Plan& plan, const Op& op) {
  if (op.operands == 0) return;
  const auto ranks = plan.ranks_of(op);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const View view = plan.operand(op, 0)[i];
    if (view.numel == 0 || !backend.holds(plan, ranks[i])) continue;
    std::array<std::byte, 8> one{};
    const auto size = static_cast<std::size_t>(bytes_of(plan.buffer(view.buffer).dtype));
    backend.read(plan, ranks[i], {view.buffer, view.offset, 1}, std::span(one).first(size));
  }
}

/// What lies beside gradients where no op overtakes another.
StateTrace state_in_order(Backend& backend, const Scenario& scenario, const Planned& planned) {
  StateTrace state(planned.plan);
  RunEvents events;
  events.after_op = [&](OpIndex op) {
    settle(backend, planned.plan, planned.plan.ops[static_cast<std::size_t>(op.value)]);
  };
  events.at_finish = [&](std::int32_t step) {
    state.before(planned.finishes[static_cast<std::size_t>(step)], backend);
  };
  events.at_end = [&] { state.at_end(backend); };
  run(planned, scenario, ScenarioData(scenario), backend, events);
  return state;
}

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
  const StateTrace in_order = state_in_order(backend, scenario, planned);
  const auto tried = [&](const Delay& delay) {
    DelayedRace race;
    for (std::int64_t i = 0; i < options.tries; ++i) {
      std::optional<HeldBack> held(std::in_place, *delaying, delay);
      ValueChecker checker(scenario, data, planned);
      StateTrace state(planned.plan);
      RunEvents events;
      events.at_finish = [&](std::int32_t step) {
        Snapshot read(backend, planned.plan);
        state.before(planned.finishes[static_cast<std::size_t>(step)], backend);
        checker.check(step, read);
      };
      events.at_end = [&] {
        held.reset();  // from here on what is late is waited for
        state.at_end(backend);
      };
      run(planned, scenario, data, backend, events);
      std::vector<Finding> values = checker.take();
      if (auto other = state.difference(in_order)) values.push_back(std::move(*other));
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
