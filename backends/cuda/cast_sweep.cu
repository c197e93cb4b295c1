#include <memory>

#include "backends/cpu/casts.h"
#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/check.h"
#include "backends/cuda/fp8.cuh"
#include "backends/cuda/fp8_edges.h"
#include "backends/cuda/handles.h"

namespace shardcheck {
namespace gpu {

struct SweepSums {
  unsigned long long differences, digest;
  unsigned long long first;  ///< least of input << 16 | by_rule << 8 | by_hardware
};

constexpr int kSweepThreads = 256;
constexpr unsigned kSweepBlocks = 4096;

/// Pairs of inputs, as the conversion instruction takes them; a thread strides over them.
template <class F>
__global__ void __launch_bounds__(kSweepThreads) sweep(const Fp8Edges edges, SweepSums* sums) {
  unsigned long long differences = 0, digest = 0, first = ~0ULL;
  constexpr std::uint32_t kThreads = kSweepBlocks * kSweepThreads;
  constexpr std::uint32_t kTurns = (1u << 31) / kThreads;
  std::uint32_t input = 2 * (blockIdx.x * kSweepThreads + threadIdx.x);
  for (std::uint32_t turn = 0; turn < kTurns; ++turn, input += 2 * kThreads) {
    const float values[2] = {__uint_as_float(input), __uint_as_float(input + 1)};
    const std::uint16_t pair = convert_pair<F>(values[0], values[1]);
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto code = static_cast<std::uint8_t>(pair >> 8 * i & 0xFFu);
      if (!edges.are_hardware) code = with_edges<F>(code, values[i], edges);
      const std::uint32_t bits = input + i;
      const std::uint8_t expected = encode_by_rule<F>(bits, edges);
      const std::uint32_t weight = bits * 0x9E3779B1u + 0x7F4A7C15u;
      digest += static_cast<unsigned long long>(weight) * (code + 1u);
      if (code != expected) {
        ++differences;
        const unsigned long long seen = static_cast<unsigned long long>(bits) << 16 | expected << 8 | code;
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

struct DestroyMemory {
  void operator()(SweepSums* memory) const { cudaFree(memory); }
};

}  // namespace gpu

CastSweep sweep_fp32_casts(DType destination, std::int8_t policy) {
  using namespace gpu;
  const Fp8Edges edges = edges_of(destination, cpu::policy_of(policy));
  SC_CHECK(cudaSetDevice(0));
  SweepSums* memory = nullptr;
  SC_CHECK(cudaMalloc(&memory, sizeof(SweepSums)));
  const std::unique_ptr<SweepSums, DestroyMemory> owned(memory);
  SweepSums sums{0, 0, ~0ULL};
  SC_CHECK(cudaMemcpy(memory, &sums, sizeof sums, cudaMemcpyHostToDevice));
  const OwnedStream stream = make_stream();
  cudaEvent_t made[2] = {};
  for (cudaEvent_t& event : made) SC_CHECK(cudaEventCreate(&event));
  const OwnedEvent begin(made[0]), end(made[1]);
  SC_CHECK(cudaEventRecord(begin.get(), stream.get()));
  if (destination == DType::e4m3) {
    sweep<E4m3><<<kSweepBlocks, kSweepThreads, 0, stream.get()>>>(edges, memory);
  } else {
    sweep<E5m2><<<kSweepBlocks, kSweepThreads, 0, stream.get()>>>(edges, memory);
  }
  check(cudaGetLastError(), "launch of the sweep over all fp32 casts");
  SC_CHECK(cudaEventRecord(end.get(), stream.get()));
  SC_CHECK(cudaEventSynchronize(end.get()));
  float milliseconds = 0;
  SC_CHECK(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  SC_CHECK(cudaMemcpy(&sums, memory, sizeof sums, cudaMemcpyDeviceToHost));
  return {.differences = sums.differences,
          .input = static_cast<std::uint32_t>(sums.first >> 16),
          .by_rule = static_cast<std::uint8_t>(sums.first >> 8),
          .by_hardware = static_cast<std::uint8_t>(sums.first),
          .digest = sums.digest,
          .milliseconds = milliseconds};
}

}  // namespace shardcheck
