// Memory: the storage of every rank of a claim as real numbers, filled through its segments and read back,
// for the laws that move bytes. Padding holds a canary. Next: bytes.h, moves.h.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

/// Bits of element `e` of a tensor: over a tensor they run through quiet and signalling NaN payloads, both
/// zeros, subnormals, infinities and every low byte, so a copy that interprets them changes some.
std::uint32_t code_of(ParamId param, std::int64_t element);

/// [group][rank * buckets + bucket] -> storage of that rank.
using Memory = std::vector<std::vector<std::vector<std::uint32_t>>>;

/// Elements of storage that a claim needs over all ranks.
std::int64_t storage_of(const Claim& claim);

/// True when every segment lies inside its tensor and its storage, so that moving it is defined; L1 and L3
/// report what is not.
bool can_move(const Claim& claim);

/// Storage full of `canary`.
Memory blank(const Claim& claim, std::uint32_t canary);

/// The same, and every segment filled with its codes; an unsharded buffer is filled whole on every rank.
Memory filled(const Claim& claim, std::uint32_t canary);

}  // namespace shardcheck::laws
