#include <algorithm>

#include "backends/cuda/casts.cuh"
#include "backends/cuda/casts.h"
#include "backends/cuda/check.h"
#include "backends/cuda/with_element.cuh"
#include "backends/cuda/with_fp8.cuh"

namespace shardcheck::gpu {
namespace {

/// Elements a pack and packs a thread. Measured on an H200: a warp's stores must be whole and adjacent, or
/// writing FP8 wide falls to half the copy rate; reads may be strided, the cache gathers them.
template <class S, class D>
struct Packing {
  static constexpr int kCount = kIsFp8<D> ? 16 : 16 / static_cast<int>(sizeof(typename D::Stored));
  static constexpr int kPacks = kIsFp8<D> ? 1 : kCount / 2;
};

template <class S, class D, bool kLooksUpEdges>
void launch_by(const ConvertTable& table, cudaStream_t stream) {
  constexpr int kCount = Packing<S, D>::kCount, kPacks = Packing<S, D>::kPacks;
  const RankTable& ranks = table.ranks;
  const long long numel = *std::max_element(ranks.numel, ranks.numel + ranks.ranks);
  if (numel == 0) return;
  const dim3 grid(blocks_of_convert(numel, kCount * kPacks), static_cast<unsigned>(ranks.ranks));
  convert<S, D, kLooksUpEdges, kCount, kPacks><<<grid, kConvertThreads, 0, stream>>>(table);
  check(cudaGetLastError(), "launch of a conversion");
}

template <class S, class D>
void launch(const ConvertTable& table, cudaStream_t stream) {
  if constexpr (kIsFp8<D>) {
    if (!table.edges.are_hardware) return launch_by<S, D, true>(table, stream);
  }
  launch_by<S, D, false>(table, stream);
}

bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

}  // namespace

void launch_convert(const ConvertTable& table, Types types, cudaStream_t stream) {
  if (table.ranks.ranks == 0) return;
  if (!is_fp8(types.destination)) {
    return with_fp8(types.source, [&](auto s) {
      with_element(types.destination, [&](auto d) { launch<decltype(s), decltype(d)>(table, stream); });
    });
  }
  with_fp8(types.destination, [&](auto d) {
    const auto launch_from = [&](auto s) { launch<decltype(s), decltype(d)>(table, stream); };
    if (is_fp8(types.source)) return with_fp8(types.source, launch_from);
    with_element(types.source, launch_from);
  });
}

}  // namespace shardcheck::gpu
