#include "backends/cuda/check.h"
#include "backends/cuda/long_sum.cuh"
#include "backends/cuda/own_gemm.h"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

constexpr int kExactThreads = 128;

/// grid.y: the rank. One output a thread, striding.
template <class E, class D>
__global__ void __launch_bounds__(kExactThreads) exact_gemm(const __grid_constant__ GemmTable table) {
  const auto* const dy = static_cast<const typename E::Stored*>(table.dy[blockIdx.y]);
  const auto* const x = static_cast<const typename E::Stored*>(table.x[blockIdx.y]);
  auto* const destination = static_cast<typename D::Stored*>(table.destination[blockIdx.y]);
  const long long outputs = table.rows * table.columns;
  const long long threads = static_cast<long long>(gridDim.x) * kExactThreads;
  for (long long at = static_cast<long long>(blockIdx.x) * kExactThreads + threadIdx.x; at < outputs;
       at += threads) {
    const long long row = at / table.columns, column = at % table.columns;
    if constexpr (std::is_same_v<D, F32>) {
      if (table.tokens == 1) {
        // One fused multiply-add is the exact sum rounded once. The added +0 makes an exact zero +0.
        const float start = table.accumulate ? __fadd_rn(D::widen(destination[at]), 0.0f) : 0.0f;
        const float result = __fmaf_rn(E::widen(dy[row]), E::widen(x[column]), start);
        destination[at] = D::narrow(result != result ? __uint_as_float(0x7FC00000u) : result);
        continue;
      }
    }
    LongSum sum;
    if (table.accumulate) add_value(sum, D::widen(destination[at]));
    for (long long token = 0; token < table.tokens; ++token) {
      add_product(sum, E::widen(dy[token * table.rows + row]), E::widen(x[token * table.columns + column]));
    }
    destination[at] = rounded<D>(sum);
  }
}

void launch_exact_gemm(const GemmTable& table, GemmTypes types, cudaStream_t stream) {
  const long long outputs = table.rows * table.columns;
  if (table.ranks == 0 || outputs == 0) return;
  SC_ASSERT(table.tokens > 0 && table.tokens < (1LL << 30),
            "a GEMM has no token, or more than the sum can carry");
  constexpr long long kMostBlocks = 65536;
  const long long wanted = (outputs + kExactThreads - 1) / kExactThreads;
  const dim3 grid(static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks),
                  static_cast<unsigned>(table.ranks));
  with_element(types.operand, [&](auto e) {
    with_element(types.destination, [&](auto d) {
      exact_gemm<decltype(e), decltype(d)><<<grid, kExactThreads, 0, stream>>>(table);
    });
  });
  check(cudaGetLastError(), "launch of the exact GEMM");
}

}  // namespace shardcheck::gpu
