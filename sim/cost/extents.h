// Extents: how many elements of a piece a rank keeps of weights, gradients and optimizer state, and what it
// keeps beside them while a step runs. Next: step.h.
#pragma once

#include "sim/cost/step.h"

namespace shardcheck::cost {

/// True where gradients go to temporary destinations and from there onto a shard.
inline bool has_leases(const StepJob& job) {
  return job.system->sharded >= Sharded::gradients;
}

/// True where a microbatch's sum waits for the outer axis beside the shard.
inline bool has_partials(const StepJob& job) {
  return job.system->has_partials && job.outer == OuterAxis::replicates;
}

/// Elements of the running gradient: all, or the part of the inner group's rank.
std::int64_t gradient_extent(const StepJob& job, const Piece& piece);

/// Elements of the weights between uses.
std::int64_t weight_extent(const StepJob& job, const Piece& piece);

/// All that does not depend on the order of ops; leases for job.slots of them, nothing gathered and no
/// gradient on its way.
StepMemory memory_of(const StepJob& job);

/// Bytes of one lease: all are as large as the largest piece.
double lease_bytes(const StepJob& job);

}  // namespace shardcheck::cost
