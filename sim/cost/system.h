// Systems: what each named training system shards, how it lays that out and how a gradient travels in it, as
// far as its price depends on it (wgrad 3, shard-layouts 2). The names are those of a scenario's strategies.
// Next: pieces.h, what its collectives move; step.h, one training step of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/cost/strategy.h"

namespace shardcheck::cost {

/// What one collective moves.
enum class Grain : std::uint8_t {
  bucket,  ///< a bucket of the layout
  unit,    ///< the parameters of one layer, each cut by itself
  run,     ///< neighbours in a flat buffer, up to a number of elements
};

/// How far sharding goes, in the stages of ZeRO.
enum class Sharded : std::uint8_t { nothing, optimizer, gradients, weights };

struct System {
  std::string_view name;    ///< "megatron-fsdp-v1/optim_grads"
  std::string_view layout;  ///< of core/layout/registry.h
  Sharded sharded = Sharded::nothing;
  Grain grain = Grain::bucket;
  bool packs = false;         ///< gradients come from autograd and are copied into a reduction's input
  bool zeroes = true;         ///< accumulators, before a step; else its first gradient replaces them
  bool scales = true;         ///< multiplied by 1 / W before the reduction; else the collective averages
  bool gathers_last = false;  ///< replicated weights are gathered behind the optimizer, not before use
  bool has_outer = false;     ///< a second axis joins its shards (HSDP, HFSDP)
  bool has_partials = false;  ///< what copies still have to add is kept apart, in the type of the wire
};

std::span<const System> systems();

/// Null when there is none of that name.
const System* find_system(std::string_view name);

/// What the ranks along a second axis do.
enum class OuterAxis : std::uint8_t { none, replicates, shards };

/// The row of the tables of shard-layouts 5 that the system is held to.
Strategy closed_form_of(const System& system, OuterAxis outer);

}  // namespace shardcheck::cost
