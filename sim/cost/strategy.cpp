#include "sim/cost/strategy.h"

#include <algorithm>

namespace shardcheck::cost {
namespace {

constexpr std::string_view kNames[] = {"DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3", "HSDP", "HFSDP"};

constexpr StoredAs kStorages[] = {
    {"bf16", "two bytes an element, gathered as they are", 2, 2},
    {"f32", "four bytes an element", 4, 4},
    {"fp8-tensor", "a byte and one scale a tensor; the transposed copy is made locally", 1, 1},
    {"fp8-128x128", "a byte and an f32 scale for each 128x128 block", 1 + 4.0 / 16384, 1 + 4.0 / 16384},
    {"mxfp8", "both directions, each a byte and a scale for 32 elements", 2.0625, 2.0625},
    {"mxfp8-one-way", "both directions kept, one sent a pass", 2.0625, 1 + 1.0 / 32},
    {"nvfp4", "half a byte and a scale for 16 elements, row-wise", 0.5625, 0.5625},
};

/// A(W): the share of a buffer that a rank sends in a ring.
double ring_share(double world) {
  return (world - 1) / world;
}

}  // namespace

std::string_view name_of(Strategy strategy) {
  return kNames[static_cast<int>(strategy)];
}

std::span<const StoredAs> storages() {
  return kStorages;
}

const StoredAs* find_storage(std::string_view name) {
  const auto* found = std::ranges::find(kStorages, name, &StoredAs::name);
  return found == std::end(kStorages) ? nullptr : found;
}

double bytes_sent(Strategy strategy, const Job& job) {
  const double n = job.elements, m = job.microbatches;
  const double e_w = job.widths.weight_wire, e_g = job.widths.gradient_wire, w3 = job.gathers * e_w;
  const double all = ring_share(job.inner * job.outer), in = ring_share(job.inner),
               out = ring_share(job.outer);
  const double part = n / job.inner;
  switch (strategy) {
    case Strategy::ddp: return 2 * all * n * e_g;
    case Strategy::zero1: return all * n * (e_g + e_w);
    case Strategy::zero2: return all * n * (m * e_g + e_w);
    case Strategy::zero3: return all * n * m * (e_g + w3);
    case Strategy::hsdp: return in * n * m * (e_g + w3) + 2 * out * part * e_g;
    case Strategy::hfsdp: return in * n * m * (e_g + w3) + out * part * (e_g + e_w);
  }
  return 0;
}

double collective_seconds(Strategy strategy, const Job& job, const Cluster& cluster) {
  const double n = job.elements, m = job.microbatches, part = n / job.inner;
  const double e_w = job.widths.weight_wire, e_g = job.widths.gradient_wire;
  const auto over = [&](double bytes) { return group_seconds(cluster.inner, bytes, cluster.network); };
  const auto across = [&](double bytes) { return group_seconds(cluster.outer, bytes, cluster.network); };
  const double sharded = m * (over(n * e_g) + job.gathers * over(n * e_w));
  switch (strategy) {
    case Strategy::ddp: return 2 * over(n * e_g);
    case Strategy::zero1: return over(n * e_g) + over(n * e_w);
    case Strategy::zero2: return m * over(n * e_g) + over(n * e_w);
    case Strategy::zero3: return sharded;
    case Strategy::hsdp: return sharded + 2 * across(part * e_g);
    case Strategy::hfsdp: return sharded + across(part * e_g) + across(part * e_w);
  }
  return 0;
}

double bytes_kept(Strategy strategy, const Job& job) {
  const double n = job.elements, world = job.inner * job.outer;
  const auto& [w, g, o, w_wire, g_wire] = job.widths;
  switch (strategy) {
    case Strategy::ddp: return (w + g + o) * n;
    case Strategy::zero1: return (w + g) * n + o * n / world;
    case Strategy::zero2: return w * n + (g + o) * n / world;
    case Strategy::zero3: return (w + g + o) * n / world;
    case Strategy::hsdp: return (w + g + o) * n / job.inner;
    case Strategy::hfsdp: return (w + g) * n / job.inner + o * n / world;
  }
  return 0;
}

}  // namespace shardcheck::cost
