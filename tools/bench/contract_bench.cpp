// Rates of the contract pipeline: one case is planned, judged, executed and compared with the oracle. The case is the
// one that the project's figure speaks of: 8 ranks, 4 parameters of 1,000 elements, 4 microbatches, 2 steps.
// Beside them, in the same run, what the machine can do at most: copying and fused multiply-adds.
#include <benchmark/benchmark.h>

#include <cstring>

#include "backends/registry.h"
#include "core/assert.h"
#include "core/contract/monitor.h"
#include "properties/evidence.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

Scenario figure_case(Strategy strategy) {
  Scenario s;
  s.strategy = strategy;
  s.ranks = 8;
  s.microbatches = 4;
  s.steps = 2;
  for (int p = 0; p < 4; ++p) {
    s.parameters.push_back({.name = "w" + std::to_string(p), .shape = {25, 40}, .unit = p});
    s.uses.push_back({p, Producer::fused, -1});
  }
  return s;
}

void whole_case(benchmark::State& state) {
  const auto strategy = static_cast<Strategy>(state.range(0));
  const Scenario scenario = figure_case(strategy);
  const auto backend = make_backend("cpu", {"ideal"});
  for (auto _ : state) {
    const Evidence evidence = examine(*backend, scenario, Poison::quiet_nan);
    SC_ASSERT(evidence.findings.empty(), "the benchmark's case breaks a clause");
  }
  state.SetLabel(std::string(name_of(strategy)));
  state.counters["cases"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(whole_case)->DenseRange(0, kStrategies - 1)->Threads(1)->Threads(2)->UseRealTime();

void plan_only(benchmark::State& state) {
  const Scenario scenario = figure_case(Strategy::fsdp_optim_grads);
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(scenario));
}
BENCHMARK(plan_only);

void judge_only(benchmark::State& state) {
  const Planned planned = plan_of(figure_case(Strategy::fsdp_optim_grads));
  for (auto _ : state) benchmark::DoNotOptimize(judge(planned.plan));
}
BENCHMARK(judge_only);

/// The ceiling of everything that moves bytes: a copy that does not fit the cache, read plus write.
void ceiling_copy(benchmark::State& state) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::vector<char> from(kBytes, 1), to(kBytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(2 * kBytes) * state.iterations());
}
BENCHMARK(ceiling_copy)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace shardcheck
