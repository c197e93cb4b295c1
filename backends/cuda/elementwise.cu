#include <algorithm>

#include "backends/cpu/element.h"
#include "backends/cuda/check.h"
#include "backends/cuda/element.cuh"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

// ---- One op each: what becomes of the old element of the destination and the element of the source.

template <class T>
struct Raw {
  using Stored = T;
};

template <class T>
struct FillBits {
  using Source = Raw<T>;
  using Destination = Raw<T>;
  static constexpr bool kReadsSource = false, kReadsDestination = false;
  T bits;
  __device__ T operator()(T, T) const { return bits; }
};

template <class T>
struct CopyBits {
  using Source = Raw<T>;
  using Destination = Raw<T>;
  static constexpr bool kReadsSource = true, kReadsDestination = false;
  __device__ T operator()(T, T source) const { return source; }
};

template <class S, class D>
struct Cast {
  using Source = S;
  using Destination = D;
  static constexpr bool kReadsSource = true, kReadsDestination = false;
  __device__ typename D::Stored operator()(typename D::Stored, typename S::Stored source) const {
    return D::narrow(S::widen(source));
  }
};

template <class S, class D>
struct AddTo {
  using Source = S;
  using Destination = D;
  static constexpr bool kReadsSource = true, kReadsDestination = true;
  __device__ typename D::Stored operator()(typename D::Stored old, typename S::Stored source) const {
    return rounded_sum<D, S>(D::widen(old), S::widen(source));
  }
};

template <class E>
struct ScaleBy {
  using Source = E;
  using Destination = E;
  static constexpr bool kReadsSource = false, kReadsDestination = true;
  float factor;
  ProductIn in;
  __device__ typename E::Stored operator()(typename E::Stored old, typename E::Stored) const {
    return rounded_product<E>(E::widen(old), factor, in);
  }
};

template <class S>
struct StepDown {
  using Source = S;
  using Destination = F32;
  static constexpr bool kReadsSource = true, kReadsDestination = true;
  float rate;
  __device__ F32::Stored operator()(F32::Stored old, typename S::Stored source) const {
    const float step = multiply_rn(rate, S::widen(source));
    return F32::narrow(subtract_rn(F32::widen(old), step));
  }
};

// ---- The loop that all of them share.

constexpr int kThreads = 256;

/// grid.y: the rank. Threads stride over packs, then over what is left element by element.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    elementwise(const __grid_constant__ RankTable table, const Op op) {
  using S = typename Op::Source::Stored;
  using D = typename Op::Destination::Stored;
  const long long numel = table.numel[blockIdx.y];
  const S* const from = static_cast<const S*>(table.source[blockIdx.y]);
  D* const to = static_cast<D*>(table.destination[blockIdx.y]);
  const long long thread = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kThreads;

  const long long packs = table.aligned ? numel / kPack : 0;
  for (long long p = thread; p < packs; p += threads) {
    Pack<S> source;
    Pack<D> result;
    if constexpr (Op::kReadsSource) source = reinterpret_cast<const Pack<S>*>(from)[p];
    if constexpr (Op::kReadsDestination) result = reinterpret_cast<const Pack<D>*>(to)[p];
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      result.value[i] =
          op(Op::kReadsDestination ? result.value[i] : D{}, Op::kReadsSource ? source.value[i] : S{});
    }
    reinterpret_cast<Pack<D>*>(to)[p] = result;
  }
  for (long long i = packs * kPack + thread; i < numel; i += threads) {
    S source{};
    D old{};
    if constexpr (Op::kReadsSource) source = from[i];
    if constexpr (Op::kReadsDestination) old = to[i];
    to[i] = op(old, source);
  }
}

template <class Op>
void launch(const RankTable& table, const Op& op, cudaStream_t stream) {
  const long long numel = *std::max_element(table.numel, table.numel + table.ranks);
  if (table.ranks == 0 || numel == 0) return;
  // Enough blocks to fill any chip several times over; the loop strides over the rest.
  constexpr long long kMostBlocks = 4096;
  const long long work = table.aligned ? (numel + kPack - 1) / kPack : numel;
  const long long blocks = std::min(kMostBlocks, (work + kThreads - 1) / kThreads);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(table.ranks));
  elementwise<Op><<<grid, kThreads, 0, stream>>>(table, op);
  check(cudaGetLastError(), "launch of an elementwise kernel");
}

void launch_fill(const RankTable& table, int size, std::uint32_t bits, cudaStream_t stream) {
  switch (size) {
    case 4: return launch(table, FillBits<std::uint32_t>{bits}, stream);
    case 2: return launch(table, FillBits<std::uint16_t>{static_cast<std::uint16_t>(bits)}, stream);
    default: return launch(table, FillBits<std::uint8_t>{static_cast<std::uint8_t>(bits)}, stream);
  }
}

void launch_copy_bits(const RankTable& table, int size, cudaStream_t stream) {
  switch (size) {
    case 4: return launch(table, CopyBits<std::uint32_t>{}, stream);
    case 2: return launch(table, CopyBits<std::uint16_t>{}, stream);
    default: return launch(table, CopyBits<std::uint8_t>{}, stream);
  }
}

void launch_cast(const RankTable& table, Types types, cudaStream_t stream) {
  with_element(types.source, [&](auto s) {
    with_element(types.destination, [&](auto d) { launch(table, Cast<decltype(s), decltype(d)>{}, stream); });
  });
}

void launch_add(const RankTable& table, Types types, cudaStream_t stream) {
  with_element(types.source, [&](auto s) {
    with_element(types.destination,
                 [&](auto d) { launch(table, AddTo<decltype(s), decltype(d)>{}, stream); });
  });
}

void launch_scale(const RankTable& table, DType type, float factor, cudaStream_t stream) {
  switch (type) {
    case DType::f32: return launch(table, ScaleBy<F32>{factor, ProductIn::f32}, stream);
    case DType::bf16: {
      const auto in = cpu::product_is_exact_in_f32<cpu::Bf16>(factor) ? ProductIn::f32 : ProductIn::f64;
      return launch(table, ScaleBy<Bf16>{factor, in}, stream);
    }
    case DType::f16: {
      const auto in = cpu::product_is_exact_in_f32<cpu::F16>(factor) ? ProductIn::f32 : ProductIn::f64;
      return launch(table, ScaleBy<F16>{factor, in}, stream);
    }
    default: SC_ASSERT(false, "no arithmetic is defined on one-byte elements");
  }
}

void launch_sgd_step(const RankTable& table, DType source, float rate, cudaStream_t stream) {
  with_element(source, [&](auto s) { launch(table, StepDown<decltype(s)>{rate}, stream); });
}

}  // namespace shardcheck::gpu
