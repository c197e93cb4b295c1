#include "backends/cuda/check.h"
#include "backends/cuda/own_gemm.h"
#include "backends/cuda/tensor_core.cuh"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

// A block of 32 rows x 8 columns of one rank's D (column-major), an output a thread. Each step decodes its
// operands once into shared memory; n * (32 + 8) codes are a few a thread.
constexpr int kTileRows = 32, kTileColumns = 8, kTileThreads = kTileRows * kTileColumns;
constexpr long long kScaleBlock = 128;  ///< rows or products that a block scale covers, and a promoted chunk

/// An operand as `rows` by k.
template <class E>
struct Strided {
  const typename E::Stored* codes;
  long long rows, k, row_stride, k_stride;
};

/// Elements [first_row, first_row + kWidth) x [first, first + kProducts), decoded; what lies outside is zero.
/// Neighbouring threads take neighbours in memory.
template <class E, int kProducts, int kWidth>
__device__ void decode_tile(Operand (&tile)[kProducts][kWidth], const Strided<E>& from, long long first_row,
                            long long first) {
  for (int at = static_cast<int>(threadIdx.x); at < kProducts * kWidth; at += kTileThreads) {
    const bool along_k = from.k_stride == 1;
    const int i = along_k ? at % kProducts : at / kWidth, row = along_k ? at / kProducts : at % kWidth;
    const bool exists = first + i < from.k && first_row + row < from.rows;
    tile[i][row] = operand_of<E>(
        exists ? from.codes[(first_row + row) * from.row_stride + (first + i) * from.k_stride] : 0);
  }
}

/// The scale of (row, block of k) in the layouts of fp8 3.3.
inline __device__ float scale_of(ScaleKind kind, const float* scales, long long rows, long long k,
                                 long long row, long long k_block) {
  const auto padded = [](long long count) { return (count + 3) / 4 * 4; };
  switch (kind) {
    case ScaleKind::none: return 1.0f;
    case ScaleKind::tensor: return scales[0];
    case ScaleKind::outer_vector: return scales[row];
    case ScaleKind::vector128: return scales[k_block * padded(rows) + row];
    case ScaleKind::block128x128:
      return scales[row / kScaleBlock * padded((k + kScaleBlock - 1) / kScaleBlock) + k_block];
  }
  return 1.0f;
}

/// One output's place and scales.
struct Output {
  const MatmulTable& table;
  long long row, column;

  __device__ float scale_a(long long k_block) const {
    return scale_of(table.op.scales_a, table.scales_a[blockIdx.y], table.op.m, table.op.k, row, k_block);
  }
  __device__ float scale_b(long long k_block) const {
    return scale_of(table.op.scales_b, table.scales_b[blockIdx.y], table.op.n, table.op.k, column, k_block);
  }
  __device__ bool has_block_scales() const {
    return table.op.scales_a == ScaleKind::vector128 || table.op.scales_a == ScaleKind::block128x128;
  }
  /// y with the sum of one chunk in it.
  __device__ float promoted(float y, float chunk, long long k_block) const {
    if (!has_block_scales()) return __fadd_rn(y, chunk);
    const float sa = scale_a(k_block), sb = scale_b(k_block);
    if (table.op.scales_a == table.op.scales_b) return __fmaf_rn(__fmul_rn(chunk, sb), sa, y);
    return __fmaf_rn(chunk, __fmul_rn(sa, sb), y);
  }
  /// z of tensor-core 1. Block scales are already inside.
  __device__ float product_of(float sum) const {
    const float alpha = table.op.alpha;
    if (table.op.scales_a == ScaleKind::tensor) {
      return __fmul_rn(sum, __fmul_rn(__fmul_rn(alpha, scale_a(0)), scale_b(0)));
    }
    if (table.op.scales_a == ScaleKind::outer_vector) {
      return __fmul_rn(__fmul_rn(__fmul_rn(sum, scale_a(0)), scale_b(0)), alpha);
    }
    return __fmul_rn(alpha, sum);
  }
  /// The same; a sum that is zero stays +0 whatever the signs of alpha and scales: with negative alpha
  /// cuBLASLt never left a -0 (16-bit and FP8 operands, every output type, TN, NT and NN, several tiles).
  __device__ float scaled(float sum) const {
    const float z = product_of(sum);
    return sum == 0.0f && z == 0.0f ? 0.0f : z;
  }
};

/// The end of tensor-core 1: the product is rounded to the type of D before D is added.
template <class D>
__device__ typename D::Stored finished(float product, typename D::Stored old, bool accumulate) {
  float result = product;
  if (accumulate) result = __fadd_rn(D::widen(D::narrow(product)), D::widen(old));
  if (result != result) result = __uint_as_float(0x7FC00000u);
  return D::narrow(result);
}

/// grid.x: the tile, grid.y: the rank.
template <class A, class B, class D>
__global__ void __launch_bounds__(kTileThreads) hopper_matmul(const __grid_constant__ MatmulTable table) {
  using Rule = Step<A, B>;
  constexpr int kProducts = Rule::kProducts;
  __shared__ Operand a[kProducts][kTileRows];
  __shared__ Operand b[kProducts][kTileColumns];
  const Matmul& op = table.op;
  const Strided<A> from_a{static_cast<const typename A::Stored*>(table.a[blockIdx.y]), op.m, op.k,
                          table.a_row_stride, table.a_k_stride};
  const Strided<B> from_b{static_cast<const typename B::Stored*>(table.b[blockIdx.y]), op.n, op.k,
                          table.b_row_stride, table.b_k_stride};
  const long long tiles_down = (op.m + kTileRows - 1) / kTileRows;
  const long long first_row = blockIdx.x % tiles_down * kTileRows;
  const long long first_column = blockIdx.x / tiles_down * kTileColumns;
  const int row = static_cast<int>(threadIdx.x) % kTileRows,
            column = static_cast<int>(threadIdx.x) / kTileRows;
  const bool exists = first_row + row < op.m && first_column + column < op.n;
  const Output output{table, first_row + row, first_column + column};
  const bool promotes = kIsFp8<A> && !op.fast_accumulation;

  float sum = 0.0f, promoted = 0.0f;
  for (long long k = 0; k < op.k; k += kProducts) {
    decode_tile(a, from_a, first_row, k);
    decode_tile(b, from_b, first_column, k);
    __syncthreads();
    int products[kProducts], exponents[kProducts];
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
      const Operand x = a[i][row], y = b[i][column];
      products[i] = x.significand * y.significand;
      exponents[i] = x.exponent + y.exponent;
    }
    sum = tensor_core_step<Rule>(sum, products, exponents);
    if (promotes && exists && ((k + kProducts) % kScaleBlock == 0 || k + kProducts >= op.k)) {
      promoted = output.promoted(promoted, sum, k / kScaleBlock);
      sum = 0.0f;
    }
    __syncthreads();
  }

  if (!exists) return;
  auto* const to = static_cast<typename D::Stored*>(table.d[blockIdx.y]) + output.column * op.m + output.row;
  *to = finished<D>(output.scaled(promotes ? promoted : sum), op.accumulate ? *to : typename D::Stored{},
                    op.accumulate);
}

template <class A, class B>
void launch_for(const MatmulTable& table, DType d, cudaStream_t stream) {
  const long long tiles =
      (table.op.m + kTileRows - 1) / kTileRows * ((table.op.n + kTileColumns - 1) / kTileColumns);
  SC_ASSERT(tiles < (1LL << 31), "a GEMM has too many tiles for one launch");
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(table.ranks));
  with_element(d,
               [&](auto e) { hopper_matmul<A, B, decltype(e)><<<grid, kTileThreads, 0, stream>>>(table); });
  check(cudaGetLastError(), "launch of the emulated GEMM");
}

void launch_hopper_matmul(const MatmulTable& table, MatmulTypes types, cudaStream_t stream) {
  if (table.ranks == 0 || table.op.m == 0 || table.op.n == 0) return;
  const DType a = types.a, b = types.b;
  if (a == DType::bf16 && b == a) return launch_for<Bf16, Bf16>(table, types.d, stream);
  if (a == DType::f16 && b == a) return launch_for<F16, F16>(table, types.d, stream);
  if (a == DType::e4m3 && b == a) return launch_for<E4m3, E4m3>(table, types.d, stream);
  if (a == DType::e4m3 && b == DType::e5m2) return launch_for<E4m3, E5m2>(table, types.d, stream);
  if (a == DType::e5m2 && b == DType::e4m3) return launch_for<E5m2, E4m3>(table, types.d, stream);
  SC_ASSERT(false, "the tensor core model has no rule for these operands");
}

}  // namespace shardcheck::gpu
