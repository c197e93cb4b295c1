#include "properties/diagnosis/lockstep.h"

#include <cstring>

#include "properties/diagnosis/reading.h"
#include "properties/diagnosis/subject.h"
#include "sim/executor/executor.h"

namespace shardcheck {
namespace {

/// Executes, writes and reads on both; remembers the first difference in what an op wrote.
class Pair final : public Backend {
 public:
  explicit Pair(Twins twins) : twins_(twins) {}

  BackendInfo info() const override { return twins_.candidate.info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    for (std::int32_t op = first.value; op < last.value && !found; ++op) {
      twins_.reference.execute(plan, OpIndex{op}, OpIndex{op + 1});
      twins_.candidate.execute(plan, OpIndex{op}, OpIndex{op + 1});
      compare(plan, OpIndex{op});
    }
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    if (found) return;
    twins_.reference.write(plan, rank, view, bytes);
    twins_.candidate.write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    twins_.candidate.read(plan, rank, view, bytes);
  }

  std::optional<Difference> found;

 private:
  void compare(const Plan& plan, OpIndex index) {
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    const Access access = access_of(op.action);
    for (int operand = 0; operand < op.operands; ++operand) {
      if ((access.writes >> operand & 1) == 0) continue;
      for (std::size_t i = 0; i < plan.ranks_of(op).size() && !found; ++i)
        compare(plan, index, plan.ranks_of(op)[i], plan.operand(op, operand)[i]);
    }
  }
  void compare(const Plan& plan, OpIndex index, Rank rank, View view) {
    const auto right = read_sightings(twins_.reference, plan, rank, view);
    const auto seen = read_sightings(twins_.candidate, plan, rank, view);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].bits == right[i].bits) continue;
      const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
      found = Difference{index,    describe(plan, op),
                         rank,     {view.buffer, view.offset + static_cast<std::int64_t>(i), 1},
                         right[i], seen[i]};
      return;
    }
  }

  Twins twins_;
};

}  // namespace

std::optional<Difference> first_difference(const Scenario& scenario, Poison poison, Twins twins) {
  const Planned planned = rewritten_plan(scenario, poison);
  const ScenarioData data(scenario);
  Pair pair(twins);
  run(planned, scenario, data, pair, {});
  return pair.found;
}

}  // namespace shardcheck
