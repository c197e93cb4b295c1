#include <algorithm>

#include "backends/cpu/element.h"
#include "backends/cuda/check.h"
#include "backends/cuda/element.cuh"
#include "backends/cuda/reduce.h"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

constexpr int kReduceThreads = 256;

/// A 16-bit value goes through fp32 in the reference, which makes NaN codes canonical even when nothing is
/// added.
template <class E, int kWidth, class Vector>
__device__ void make_nan_canonical(Vector& vector) {
  if constexpr (kIsNarrow<E>) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) vector.value[e] = E::narrow(E::widen(vector.value[e]));
  }
}

/// As backends/cpu/collectives.cpp has it.
inline __device__ std::uint32_t larger_of(std::uint32_t most, std::uint32_t other) {
  const float a = __uint_as_float(most), b = __uint_as_float(other);
  return a != a || b > a ? other : most;
}

/// kWidth results from element `begin` on, for group blockIdx.y.
template <class E, int kWidth, class Vector>
__device__ void reduce_at(const ReduceTable& table, ProductIn in, long long begin) {
  const int first_input = static_cast<int>(blockIdx.y) * table.inputs;
  const int first_output = static_cast<int>(blockIdx.y) * table.outputs;
  Vector sum;
  bool has_sum = table.carry != nullptr;
  if (has_sum) {
    sum = *reinterpret_cast<const Vector*>(static_cast<const typename E::Stored*>(table.carry) + begin);
    make_nan_canonical<E, kWidth>(sum);  // NCCL writes others
  }
  for (int i = 0; i < table.inputs; ++i) {
    const auto* const from = static_cast<const typename E::Stored*>(table.input[first_input + i]) + begin;
    Vector addend = *reinterpret_cast<const Vector*>(from);
    if (table.multiplies) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        addend.value[e] = rounded_product<E>(E::widen(addend.value[e]), table.factor, in);
      }
    }
    if (has_sum && table.takes_largest) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        if constexpr (!kIsNarrow<E>) sum.value[e] = larger_of(sum.value[e], addend.value[e]);
      }
    } else if (has_sum) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        sum.value[e] = rounded_sum<E, E>(E::widen(sum.value[e]), E::widen(addend.value[e]));
      }
    } else {
      sum = addend;
      make_nan_canonical<E, kWidth>(sum);
    }
    has_sum = true;
  }
  if (table.part == table.numel) {
    for (int j = 0; j < table.outputs; ++j) {
      *reinterpret_cast<Vector*>(static_cast<typename E::Stored*>(table.output[first_output + j]) + begin) =
          sum;
    }
    return;
  }
  const long long part = begin / table.part;
  auto* const to = static_cast<typename E::Stored*>(table.output[first_output + part]) + begin % table.part;
  *reinterpret_cast<Vector*>(to) = sum;
}

template <class T>
struct Single {
  T value[1];
};

template <class E>
__global__ void __launch_bounds__(kReduceThreads)
    reduce(const __grid_constant__ ReduceTable table, const ProductIn in) {
  const long long thread = static_cast<long long>(blockIdx.x) * kReduceThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kReduceThreads;
  const long long packs = table.aligned ? table.numel / kPack : 0;
  for (long long p = thread; p < packs; p += threads) {
    reduce_at<E, kPack, Pack<typename E::Stored>>(table, in, p * kPack);
  }
  for (long long i = packs * kPack + thread; i < table.numel; i += threads) {
    reduce_at<E, 1, Single<typename E::Stored>>(table, in, i);
  }
}

/// grid.y: group, grid.z: input. Moves units of type T.
template <class T>
__global__ void __launch_bounds__(kReduceThreads) gather(const __grid_constant__ GatherTable table) {
  const int i = static_cast<int>(blockIdx.z);
  const int first_output = static_cast<int>(blockIdx.y) * table.outputs;
  const long long numel = table.bytes / static_cast<long long>(sizeof(T));
  const T* const from = static_cast<const T*>(table.input[static_cast<int>(blockIdx.y) * table.inputs + i]);
  const long long begin = (table.first_position + i) * numel;
  const long long thread = static_cast<long long>(blockIdx.x) * kReduceThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kReduceThreads;
  for (long long e = thread; e < numel; e += threads) {
    const T value = from[e];
    for (int j = 0; j < table.outputs; ++j)
      static_cast<T*>(table.output[first_output + j])[begin + e] = value;
  }
}

namespace {

unsigned blocks_for(long long work) {
  constexpr long long kMostBlocks = 4096;
  return static_cast<unsigned>(std::min(kMostBlocks, (work + kReduceThreads - 1) / kReduceThreads));
}

template <class Reference>
ProductIn product_in(float factor) {
  return cpu::product_is_exact_in_f32<Reference>(factor) ? ProductIn::f32 : ProductIn::f64;
}

ProductIn product_in(DType type, float factor) {
  if (type == DType::bf16) return product_in<cpu::Bf16>(factor);
  if (type == DType::f16) return product_in<cpu::F16>(factor);
  return ProductIn::f32;
}

}  // namespace

void launch_reduce(const ReduceTable& table, DType type, cudaStream_t stream) {
  if (table.numel == 0 || table.groups == 0) return;
  SC_ASSERT(!table.takes_largest || type == DType::f32, "a maximum is of fp32 numbers");
  const dim3 grid(blocks_for(table.aligned ? (table.numel + kPack - 1) / kPack : table.numel),
                  static_cast<unsigned>(table.groups));
  const ProductIn in = table.multiplies ? product_in(type, table.factor) : ProductIn::f32;
  with_element(type, [&](auto e) { reduce<decltype(e)><<<grid, kReduceThreads, 0, stream>>>(table, in); });
  check(cudaGetLastError(), "launch of a reduction");
}

/// The widest unit of 1, 2, 4 or 16 bytes that every address and the size are multiples of.
int unit_of(const GatherTable& table) {
  auto all = static_cast<std::uintptr_t>(table.bytes);
  for (int i = 0; i < table.inputs * table.groups; ++i)
    all |= reinterpret_cast<std::uintptr_t>(table.input[i]);
  for (int i = 0; i < table.outputs * table.groups; ++i)
    all |= reinterpret_cast<std::uintptr_t>(table.output[i]);
  for (int unit : {16, 4, 2}) {
    if (all % static_cast<std::uintptr_t>(unit) == 0) return unit;
  }
  return 1;
}

void launch_gather(const GatherTable& table, cudaStream_t stream) {
  if (table.bytes == 0 || table.groups == 0 || table.inputs == 0) return;
  const int unit = unit_of(table);
  const dim3 grid(blocks_for(table.bytes / unit), static_cast<unsigned>(table.groups),
                  static_cast<unsigned>(table.inputs));
  switch (unit) {
    case 16: gather<uint4><<<grid, kReduceThreads, 0, stream>>>(table); break;
    case 4: gather<std::uint32_t><<<grid, kReduceThreads, 0, stream>>>(table); break;
    case 2: gather<std::uint16_t><<<grid, kReduceThreads, 0, stream>>>(table); break;
    default: gather<std::uint8_t><<<grid, kReduceThreads, 0, stream>>>(table); break;
  }
  check(cudaGetLastError(), "launch of a gather");
}

}  // namespace shardcheck::gpu
