// Rates of casts of fp32 on one core: numbers a second by the fast casts and by the readable encoder, in the
// cache and from memory. Beside them, in the same run, the ceiling: a copy that reads and writes as many
// bytes as a cast to 8 or 16 bits.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstring>
#include <vector>

#include "core/numerics/encode.h"
#include "core/numerics/fast_cast.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kInCache = 4096, kInMemory = std::int64_t{1} << 25;

/// Numbers of every magnitude, NaNs and infinities among them.
std::vector<float> random_numbers(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::bit_cast<float>(philox(1, 7, i)[0]);
  return numbers;
}

void count_numbers(benchmark::State& state) {
  const double numbers = static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["Gnumbers"] = benchmark::Counter(numbers * 1e-9, benchmark::Counter::kIsRate);
}

template <class Code>
void cast_f32(benchmark::State& state, FormatId format, const CastPolicy& policy) {
  const std::vector<float> numbers = random_numbers(state.range(0));
  std::vector<Code> codes(numbers.size());
  const FastCast cast(format_of(format), policy);
  for (auto _ : state) {
    cast(numbers, codes);
    benchmark::ClobberMemory();
  }
  count_numbers(state);
}
void cast_to_8_bits(benchmark::State& state, FormatId format, const CastPolicy& policy) {
  cast_f32<std::uint8_t>(state, format, policy);
}
BENCHMARK_CAPTURE(cast_to_8_bits, e4m3, FormatId::e4m3, kNvSaturating)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(cast_to_8_bits, e5m2, FormatId::e5m2, kMlDtypes)->Arg(kInCache)->Arg(kInMemory);

void cast_to_16_bits(benchmark::State& state, FormatId format, const CastPolicy& policy) {
  cast_f32<std::uint16_t>(state, format, policy);
}
BENCHMARK_CAPTURE(cast_to_16_bits, bf16, FormatId::bf16, kIeee)->Arg(kInCache)->Arg(kInMemory);

void readable_cast_f32(benchmark::State& state, FormatId format) {
  const std::vector<float> numbers = random_numbers(state.range(0));
  std::vector<std::uint8_t> codes(numbers.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(numbers[i]);
      codes[i] = static_cast<std::uint8_t>(encode(format_of(format), kNvSaturating, bits));
    }
    benchmark::ClobberMemory();
  }
  count_numbers(state);
}
BENCHMARK_CAPTURE(readable_cast_f32, e4m3, FormatId::e4m3)->Arg(kInCache);

/// What a machine that only moves the bytes of a cast would reach: 4 in and `bytes` out a number.
void ceiling_copy_of_cast(benchmark::State& state, std::int64_t bytes) {
  const auto half = static_cast<std::size_t>(state.range(0) * (4 + bytes) / 2);
  std::vector<char> from(half, 1), to(half);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), half);
    benchmark::ClobberMemory();
  }
  count_numbers(state);
}
BENCHMARK_CAPTURE(ceiling_copy_of_cast, 8_bits, 1)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(ceiling_copy_of_cast, 16_bits, 2)->Arg(kInCache)->Arg(kInMemory);

}  // namespace
}  // namespace shardcheck
