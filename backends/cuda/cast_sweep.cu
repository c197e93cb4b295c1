#include <algorithm>
#include <memory>

#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/check.h"
#include "backends/cuda/element.cuh"
#include "backends/cuda/handles.h"
#include "backends/cuda/sweep_format.h"
#include "core/assert.h"

namespace shardcheck {
namespace gpu {

struct SweepSums {
  unsigned long long differences, digest;
  unsigned long long first;  ///< least of input << 32 | by_rule << 16 | by_machine
};

constexpr int kSweepThreads = 256;
constexpr unsigned kSweepBlocks = 4096, kSweepAll = kSweepBlocks * kSweepThreads;

/// Pairs of inputs below `end`, a multiple of 2 * kSweepAll; a thread strides over them.
template <class Machine, class Rule>
__global__ void __launch_bounds__(kSweepThreads)
    sweep(const Machine machine, const Rule rule, const unsigned long long end, SweepSums* sums) {
  unsigned long long differences = 0, digest = 0, first = ~0ULL;
  const auto turns = static_cast<unsigned>(end / (2ULL * kSweepAll));
  std::uint32_t input = 2 * (blockIdx.x * kSweepThreads + threadIdx.x);
  for (unsigned turn = 0; turn < turns; ++turn, input += 2 * kSweepAll) {
    std::uint32_t codes[2];
    machine.codes(input, codes);
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t bits = input + i, expected = rule.code(bits);
      const std::uint32_t weight = bits * 0x9E3779B1u + 0x7F4A7C15u;
      digest += static_cast<unsigned long long>(weight) * (codes[i] + 1u);
      if (codes[i] != expected) {
        ++differences;
        const unsigned long long seen =
            static_cast<unsigned long long>(bits) << 32 | expected << 16 | codes[i];
        first = seen < first ? seen : first;
      }
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) digest += __shfl_down_sync(~0u, digest, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(&sums->digest, digest);
  if (differences == 0) return;
  atomicAdd(&sums->differences, differences);
  atomicMin(&sums->first, first);
}

/// All numbers of a 16-bit type S, two a thread.
template <class Machine, class S>
__global__ void __launch_bounds__(kSweepThreads)
    cast_16_bit(const Machine machine, const bool takes_negative, std::uint16_t* to) {
  const std::uint32_t code = blockIdx.x * kSweepThreads + threadIdx.x;
  std::uint32_t two[2];
  const std::uint32_t bits = __float_as_uint(S::widen(static_cast<std::uint16_t>(code)));
  machine.codes(bits, two);  // the second is of another number
  to[code] = static_cast<std::uint16_t>(takes_negative || bits >> 31 == 0 ? two[0] : 0u);
}

namespace {

struct DestroyMemory {
  void operator()(void* memory) const { cudaFree(memory); }
};
template <class T>
std::unique_ptr<T, DestroyMemory> allocate(std::size_t count) {
  T* memory = nullptr;
  SC_CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return std::unique_ptr<T, DestroyMemory>(memory);
}

bool takes_negative(const NamedCast& cast) {
  return cast.takes(0x80000000u);
}

CastSweep seen_by(const NamedCast& cast, const SweepSums& sums) {
  return {.inputs = takes_negative(cast) ? 1ULL << 32 : 1ULL << 31,
          .differences = sums.differences,
          .input = static_cast<std::uint32_t>(sums.first >> 32),
          .by_rule = static_cast<std::uint16_t>(sums.first >> 16),
          .by_machine = static_cast<std::uint16_t>(sums.first),
          .digest = sums.digest};
}

OwnedEvent timed_event() {
  cudaEvent_t made = nullptr;
  SC_CHECK(cudaEventCreate(&made));
  return OwnedEvent(made);
}

}  // namespace
}  // namespace gpu

std::vector<CastSweep> sweep_fp32_casts(std::span<const NamedCast> casts) {
  using namespace gpu;
  SC_CHECK(cudaSetDevice(0));
  const auto memory = allocate<SweepSums>(std::max<std::size_t>(casts.size(), 1));
  std::vector<SweepSums> sums(casts.size(), SweepSums{0, 0, ~0ULL});
  const std::size_t bytes = sums.size() * sizeof(SweepSums);
  SC_CHECK(cudaMemcpy(memory.get(), sums.data(), bytes, cudaMemcpyHostToDevice));
  const OwnedStream stream = make_stream();
  std::vector<OwnedEvent> events;
  for (std::size_t i = 0; i <= casts.size(); ++i) events.push_back(timed_event());
  SC_CHECK(cudaEventRecord(events[0].get(), stream.get()));
  for (std::size_t i = 0; i < casts.size(); ++i) {
    const unsigned long long end = takes_negative(casts[i]) ? 1ULL << 32 : 1ULL << 31;
    with_sweep(casts[i], [&](const auto& machine, const auto& rule) {
      sweep<<<kSweepBlocks, kSweepThreads, 0, stream.get()>>>(machine, rule, end, memory.get() + i);
    });
    check(cudaGetLastError(), "launch of the sweep over all fp32 casts");
    SC_CHECK(cudaEventRecord(events[i + 1].get(), stream.get()));
  }
  SC_CHECK(cudaStreamSynchronize(stream.get()));
  SC_CHECK(cudaMemcpy(sums.data(), memory.get(), bytes, cudaMemcpyDeviceToHost));
  std::vector<CastSweep> sweeps;
  for (std::size_t i = 0; i < casts.size(); ++i) {
    float milliseconds = 0;
    SC_CHECK(cudaEventElapsedTime(&milliseconds, events[i].get(), events[i + 1].get()));
    sweeps.push_back(seen_by(casts[i], sums[i]));
    sweeps.back().milliseconds = milliseconds;
  }
  return sweeps;
}

std::vector<std::vector<std::uint16_t>> codes_of_16_bit_on_gpu(std::span<const NamedCast> casts,
                                                               DType source) {
  using namespace gpu;
  SC_ASSERT(source == DType::bf16 || source == DType::f16, "a 16-bit source is bf16 or f16");
  constexpr std::size_t kAll = std::size_t{1} << 16;
  SC_CHECK(cudaSetDevice(0));
  const auto memory = allocate<std::uint16_t>(kAll * std::max<std::size_t>(casts.size(), 1));
  const OwnedStream stream = make_stream();
  for (std::size_t i = 0; i < casts.size(); ++i) {
    with_sweep(casts[i], [&](const auto& machine, const auto&) {
      using Machine = std::remove_cvref_t<decltype(machine)>;
      const auto kernel = source == DType::bf16 ? cast_16_bit<Machine, Bf16> : cast_16_bit<Machine, F16>;
      kernel<<<kAll / kSweepThreads, kSweepThreads, 0, stream.get()>>>(machine, takes_negative(casts[i]),
                                                                       memory.get() + i * kAll);
    });
    check(cudaGetLastError(), "launch of casts of all 16-bit numbers");
  }
  SC_CHECK(cudaStreamSynchronize(stream.get()));
  std::vector<std::uint16_t> all(kAll * casts.size());
  SC_CHECK(cudaMemcpy(all.data(), memory.get(), all.size() * 2, cudaMemcpyDeviceToHost));
  std::vector<std::vector<std::uint16_t>> codes;
  for (std::size_t i = 0; i < casts.size(); ++i) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * kAll);
    codes.emplace_back(first, first + static_cast<std::ptrdiff_t>(kAll));
  }
  return codes;
}

}  // namespace shardcheck
