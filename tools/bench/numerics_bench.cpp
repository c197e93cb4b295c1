// Rates of the arithmetic profiles: multiply-accumulates a second of a weight gradient, one core. Beside
// them, in the same run, the core's own ceiling: double-precision fused multiply-adds from registers.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>

#include "core/numerics/gemm.h"
#include "core/numerics/narrow.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

std::vector<std::byte> random_bf16(std::int64_t numel, std::uint64_t stream) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(2 * numel));
  for (std::int64_t i = 0; i < numel; ++i) {
    const std::uint32_t word = philox(1, stream, static_cast<std::uint64_t>(i))[0];
    const std::uint16_t code =
        f32_to_bf16(std::ldexp(static_cast<float>(static_cast<std::int32_t>(word)), -31));
    std::memcpy(bytes.data() + 2 * i, &code, 2);
  }
  return bytes;
}

void weight_gradient(benchmark::State& state, const ArithmeticProfile& profile) {
  constexpr std::int64_t kTokens = 1024, kOut = 256, kIn = 256;
  const auto dy = random_bf16(kTokens * kOut, 1), x = random_bf16(kTokens * kIn, 2);
  std::vector<std::byte> destination(kOut * kIn * 4);
  for (auto _ : state) {
    wgrad(profile, DType::bf16, dy, x, kTokens, kOut, kIn, false, DType::f32, destination);
    benchmark::ClobberMemory();
  }
  const double macs = static_cast<double>(kTokens * kOut * kIn) * static_cast<double>(state.iterations());
  state.counters["GMAC"] = benchmark::Counter(macs * 1e-9, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(weight_gradient, hopper_bf16, kHopper);
BENCHMARK_CAPTURE(weight_gradient, ideal_bf16, kIdeal);

void ceiling_fma(benchmark::State& state) {
  constexpr int kLanes = 96, kRounds = 1 << 14;
  double sums[kLanes] = {}, factor = 1 + 0x1p-20;
  for (auto _ : state) {
    benchmark::DoNotOptimize(factor);
    for (int round = 0; round < kRounds; ++round) {
      for (double& sum : sums) sum = std::fma(sum, factor, 0x1p-30);
    }
    benchmark::DoNotOptimize(sums);
  }
  const double macs = static_cast<double>(kLanes) * kRounds * static_cast<double>(state.iterations());
  state.counters["GMAC"] = benchmark::Counter(macs * 1e-9, benchmark::Counter::kIsRate);
}
BENCHMARK(ceiling_fma);

}  // namespace
}  // namespace shardcheck
