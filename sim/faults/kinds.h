// The lists that sim/faults/zoo.cpp joins, one a kind of bug.
#pragma once

#include <vector>

#include "sim/faults/edit.h"
#include "sim/faults/zoo.h"

namespace shardcheck {

void add_beta_faults(std::vector<Fault>& zoo);
void add_distributed_faults(std::vector<Fault>& zoo);
void add_finalize_faults(std::vector<Fault>& zoo);
void add_grouped_faults(std::vector<Fault>& zoo);
void add_hook_faults(std::vector<Fault>& zoo);
void add_weight_faults(std::vector<Fault>& zoo);
void add_weight_use_faults(std::vector<Fault>& zoo);
void add_delayed_scale_faults(std::vector<Fault>& zoo);
void add_lease_faults(std::vector<Fault>& zoo);
void add_order_faults(std::vector<Fault>& zoo);
void add_outer_faults(std::vector<Fault>& zoo);
void add_producer_faults(std::vector<Fault>& zoo);
void add_phase_faults(std::vector<Fault>& zoo);
void add_readiness_faults(std::vector<Fault>& zoo);
void add_reduction_faults(std::vector<Fault>& zoo);
void add_rounding_faults(std::vector<Fault>& zoo);
void add_scale_faults(std::vector<Fault>& zoo);
void add_symmetry_faults(std::vector<Fault>& zoo);
void add_edge_faults(std::vector<Fault>& zoo);
void add_graph_faults(std::vector<Fault>& zoo);
void add_loop_faults(std::vector<Fault>& zoo);
void add_deepspeed_faults(std::vector<Fault>& zoo);

}  // namespace shardcheck
