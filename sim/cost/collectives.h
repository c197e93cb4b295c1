// Collectives: how long one takes by an alpha-beta model (shard-layouts 5, time model). Alpha is seconds a
// hop, beta seconds a byte. Illustrative: use it for the shape of curves, not for a date. Next: strategy.h.
#pragma once

namespace shardcheck::cost {

/// One network.
struct Link {
  double alpha = 5e-6;             ///< seconds a hop
  double bytes_per_second = 50e9;  ///< 1 / beta
};

/// A cluster of nodes.
struct Network {
  Link inner{2e-6, 450e9};  ///< inside a node
  Link outer{5e-6, 50e9};   ///< between nodes
  double node = 8;          ///< g: ranks a node
};

/// What is moved by how many.
struct Transfer {
  double world = 1;
  double bytes = 0;  ///< n: the gathered buffer, all ranks together
};

/// The ranks of one collective, and how many of them share a node.
struct Group {
  double ranks = 1;
  double in_node = 1;
};

/// All-gather or reduce-scatter on a ring over one network.
double ring_seconds(const Transfer& transfer, const Link& link);

/// The same in ceil(log2 W) steps (recursive doubling, PAT).
double log_step_seconds(const Transfer& transfer, const Link& link);

/// All-reduce by a pipelined double tree.
double tree_all_reduce_seconds(const Transfer& transfer, const Link& link);

/// All-gather or reduce-scatter inside nodes and between them, rings both. A world that fits into one node
/// uses the inner network only.
double hierarchical_seconds(const Transfer& transfer, const Network& network);

/// The same for a group whose members need not be neighbours (Network::node does not count). 0 for one rank.
double group_seconds(const Group& group, double bytes, Network network);

}  // namespace shardcheck::cost
