#include "sim/cost/collectives.h"

#include <cmath>

namespace shardcheck::cost {
namespace {

/// Bytes that a rank sends of a buffer in a ring, in seconds.
double streaming(const Transfer& transfer, const Link& link) {
  return (transfer.world - 1) / transfer.world * transfer.bytes / link.bytes_per_second;
}

double log_steps(double world) {
  return std::ceil(std::log2(world));
}

}  // namespace

double ring_seconds(const Transfer& transfer, const Link& link) {
  return (transfer.world - 1) * link.alpha + streaming(transfer, link);
}

double log_step_seconds(const Transfer& transfer, const Link& link) {
  return log_steps(transfer.world) * link.alpha + streaming(transfer, link);
}

double tree_all_reduce_seconds(const Transfer& transfer, const Link& link) {
  return 2 * log_steps(transfer.world) * link.alpha + 2 * transfer.bytes / link.bytes_per_second;
}

double hierarchical_seconds(const Transfer& transfer, const Network& network) {
  if (transfer.world <= network.node) return ring_seconds(transfer, network.inner);
  const Transfer inside{network.node, transfer.bytes};
  const Transfer between{transfer.world / network.node, transfer.bytes / network.node};
  return ring_seconds(inside, network.inner) + ring_seconds(between, network.outer);
}

double group_seconds(const Group& group, double bytes, Network network) {
  if (group.ranks <= 1) return 0;
  network.node = group.in_node;
  return hierarchical_seconds({group.ranks, bytes}, network);
}

}  // namespace shardcheck::cost
