#include "backends/cuda/check.h"
#include "backends/cuda/own_gemm.h"
#include "backends/cuda/tensor_core.cuh"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

// A block of 32 columns x 8 rows of one rank's destination, an output a thread. Each step decodes its
// operands once into shared memory; 16 * (32 + 8) codes are two or three a thread.
constexpr int kTileColumns = 32, kTileRows = 8, kTileThreads = kTileColumns * kTileRows;

/// Elements [begin, begin + kWidth) of kStepProducts rows of a row-major matrix, decoded; what lies outside
/// is zero.
template <class E, int kWidth>
__device__ void decode_tile(Operand (&tile)[kStepProducts][kWidth], const std::uint16_t* matrix,
                            long long width, long long begin, long long token, long long tokens) {
  for (int at = static_cast<int>(threadIdx.x); at < kStepProducts * kWidth; at += kTileThreads) {
    const int k = at / kWidth, column = at % kWidth;
    const bool exists = token + k < tokens && begin + column < width;
    tile[k][column] = operand_of<E>(exists ? matrix[(token + k) * width + begin + column] : std::uint16_t{0});
  }
}

/// The end of tensor-core 1: the product is rounded to the type of the destination before the destination is
/// added.
template <class D>
__device__ typename D::Stored finished(float product, typename D::Stored old, bool accumulate) {
  float result = product;
  if (accumulate) result = __fadd_rn(D::widen(D::narrow(product)), D::widen(old));
  if (result != result) result = __uint_as_float(0x7FC00000u);
  return D::narrow(result);
}

/// grid.x: the tile, grid.y: the rank.
template <class E, class D>
__global__ void __launch_bounds__(kTileThreads) hopper_gemm(const __grid_constant__ GemmTable table) {
  __shared__ Operand dy[kStepProducts][kTileRows];
  __shared__ Operand x[kStepProducts][kTileColumns];
  const long long tiles_across = (table.columns + kTileColumns - 1) / kTileColumns;
  const long long first_row = blockIdx.x / tiles_across * kTileRows;
  const long long first_column = blockIdx.x % tiles_across * kTileColumns;
  const int row = static_cast<int>(threadIdx.x) / kTileColumns,
            column = static_cast<int>(threadIdx.x) % kTileColumns;

  float sum = 0.0f;
  for (long long token = 0; token < table.tokens; token += kStepProducts) {
    decode_tile<E>(dy, static_cast<const std::uint16_t*>(table.dy[blockIdx.y]), table.rows, first_row, token,
                   table.tokens);
    decode_tile<E>(x, static_cast<const std::uint16_t*>(table.x[blockIdx.y]), table.columns, first_column,
                   token, table.tokens);
    __syncthreads();
    int products[kStepProducts], exponents[kStepProducts];
#pragma unroll
    for (int k = 0; k < kStepProducts; ++k) {
      const Operand a = dy[k][row], b = x[k][column];
      products[k] = a.significand * b.significand;
      exponents[k] = a.exponent + b.exponent;
    }
    sum = tensor_core_step<E>(sum, products, exponents);
    __syncthreads();
  }

  if (first_row + row >= table.rows || first_column + column >= table.columns) return;
  auto* const to = static_cast<typename D::Stored*>(table.destination[blockIdx.y]) +
                   (first_row + row) * table.columns + first_column + column;
  *to = finished<D>(sum, table.accumulate ? *to : typename D::Stored{}, table.accumulate);
}

template <class E>
void launch_for(const GemmTable& table, DType destination, cudaStream_t stream) {
  const long long tiles =
      (table.columns + kTileColumns - 1) / kTileColumns * ((table.rows + kTileRows - 1) / kTileRows);
  SC_ASSERT(tiles < (1LL << 31), "a GEMM has too many tiles for one launch");
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(table.ranks));
  with_element(destination,
               [&](auto d) { hopper_gemm<E, decltype(d)><<<grid, kTileThreads, 0, stream>>>(table); });
  check(cudaGetLastError(), "launch of the emulated GEMM");
}

void launch_hopper_gemm(const GemmTable& table, GemmTypes types, cudaStream_t stream) {
  if (table.ranks == 0 || table.rows == 0 || table.columns == 0) return;
  SC_ASSERT(table.tokens > 0, "a GEMM without tokens is no product");
  SC_ASSERT(types.operand == DType::bf16 || types.operand == DType::f16,
            "the tensor core model is for 16-bit operands");
  if (types.operand == DType::bf16) return launch_for<Bf16>(table, types.destination, stream);
  launch_for<F16>(table, types.destination, stream);
}

}  // namespace shardcheck::gpu
