#include "sim/cost/extents.h"

#include <algorithm>

namespace shardcheck::cost {
namespace {

std::int64_t largest(const StepJob& job) {
  std::int64_t most = 0;
  for (const Piece& piece : job.pieces) most = std::max(most, piece.whole);
  return most;
}

/// With an outer axis that shards, the layout cuts over both axes; the inner group cuts O times coarser.
std::int64_t inner_part(const StepJob& job, const Piece& piece) {
  return job.outer == OuterAxis::shards
             ? piece.own * static_cast<std::int64_t>(job.groups_of(piece).outer.ranks)
             : piece.own;
}

}  // namespace

std::int64_t gradient_extent(const StepJob& job, const Piece& piece) {
  return has_leases(job) ? inner_part(job, piece) : piece.whole;
}

std::int64_t weight_extent(const StepJob& job, const Piece& piece) {
  return job.system->sharded == Sharded::weights ? inner_part(job, piece) : piece.whole;
}

double lease_bytes(const StepJob& job) {
  return static_cast<double>(largest(job)) * job.widths.gradient_wire;
}

StepMemory memory_of(const StepJob& job) {
  StepMemory memory;
  const bool is_staged = !has_leases(job) && job.widths.gradient_wire != job.widths.gradient;
  for (const Piece& piece : job.pieces) {
    memory.weights += static_cast<double>(weight_extent(job, piece)) * job.widths.weight;
    memory.gradients += static_cast<double>(gradient_extent(job, piece)) * job.widths.gradient;
    memory.optimizer += static_cast<double>(piece.own) * job.widths.optimizer;
    if (has_partials(job)) memory.staging += static_cast<double>(piece.own) * job.widths.gradient_wire;
    if (is_staged) memory.staging += static_cast<double>(piece.whole) * job.widths.gradient_wire;
  }
  if (has_leases(job)) memory.leases = job.slots * lease_bytes(job);
  return memory;
}

}  // namespace shardcheck::cost
