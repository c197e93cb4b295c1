// Rates of the contract pipeline: one case (figure_case.h) is planned, judged, executed and compared with the
// oracle. Beside them, in the same run, what the machine can do at most: copying and fused multiply-adds.
#include <benchmark/benchmark.h>

#include <cstring>

#include "backends/registry.h"
#include "core/assert.h"
#include "core/contract/monitor.h"
#include "properties/evidence.h"
#include "sim/planner/planner.h"
#include "tools/bench/figure_case.h"

namespace shardcheck {
namespace {

void whole_case(benchmark::State& state) {
  const auto strategy = static_cast<Strategy>(state.range(0));
  const Scenario scenario = figure_case(strategy);
  const auto backend = make_backend("cpu", {"ideal"});
  for (auto _ : state) {
    const Evidence evidence = examine(*backend, scenario, Poison::quiet_nan);
    SC_ASSERT(evidence.findings.empty(), "the benchmark's case breaks a clause");
  }
  state.SetLabel(std::string(name_of(strategy)));
  state.counters["cases"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
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
