// Strategies: what each way to shard sends a step and keeps on a rank (shard-layouts 5). Formulas as the
// specification gives them, over padded elements, so that a layout's waste shows in its price. Next:
// collectives.h, how long that takes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/cost/collectives.h"

namespace shardcheck::cost {

enum class Strategy : std::uint8_t { ddp, zero1, zero2, zero3, hsdp, hfsdp };
inline constexpr Strategy kStrategies[] = {Strategy::ddp,   Strategy::zero1, Strategy::zero2,
                                           Strategy::zero3, Strategy::hsdp,  Strategy::hfsdp};
std::string_view name_of(Strategy strategy);

/// Bytes an element of what is kept and sent. Fractions, because scales are shared by blocks.
struct Widths {
  double weight = 2;         ///< compute copy, on a rank
  double gradient = 4;       ///< accumulation buffer
  double optimizer = 12;     ///< master copy and two moments in f32
  double weight_wire = 2;    ///< e_w of a gather
  double gradient_wire = 2;  ///< e_g of a reduction
};

/// How the compute copy of quantised parameters is stored and gathered (shard-layouts 5, quantised weights).
struct StoredAs {
  std::string_view name;         ///< "mxfp8"
  std::string_view description;  ///< one sentence
  double weight = 2;             ///< bytes an element on a rank
  double weight_wire = 2;        ///< bytes an element of one gather
};
std::span<const StoredAs> storages();

/// Null when there is none of that name.
const StoredAs* find_storage(std::string_view name);

/// A job, as far as its price depends on it.
struct Job {
  double elements = 0;      ///< padded elements of a data-parallel replica, N or N^
  double inner = 1;         ///< I: ranks that shard (W without an outer axis)
  double outer = 1;         ///< O: ranks that replicate
  double microbatches = 1;  ///< M
  double gathers = 2;       ///< of sharded weights a microbatch: 1 where they stay after forward
  Widths widths;
};

/// The groups I and O of a job on their machines.
struct Cluster {
  Group inner, outer;
  Network network;
};

/// Bytes that each rank sends in a step with bandwidth-optimal collectives.
double bytes_sent(Strategy strategy, const Job& job);

/// Seconds of the collectives that send these bytes, one after another, by hierarchical rings.
double collective_seconds(Strategy strategy, const Job& job, const Cluster& cluster);

/// Bytes of weights, gradients and optimizer state that a rank keeps between steps.
double bytes_kept(Strategy strategy, const Job& job);

}  // namespace shardcheck::cost
