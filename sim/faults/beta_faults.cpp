// Faults of the write itself: a beta taken from a proxy, a write that is missing, doubled or late.
#include "sim/faults/fused_writes.h"
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {

using namespace fused_writes;

namespace {

bool any(const Op&) {
  return true;
}
bool call_order(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::call_order, [](const Op& op) {
    return first_parameter(op) && op.why.microbatch == 0 && op.why.use == 0;
  });
}
bool overwrite_persistent(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::strategy_flag, any);
}
bool overwrite_one_layer(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::constant, first_parameter);
}
bool accumulate_on_lease(Planned& planned, const Scenario&) {
  return set_beta(planned, true, BetaRule::constant, first_parameter);
}
bool overwrite_by_index(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::microbatch_index,
                  [](const Op& op) { return first_parameter(op) && op.why.microbatch == 0; });
}

void persistent_fused(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
}
void persistent_two_microbatches(Scenario& s) {
  persistent_fused(s);
  prepare::two_microbatches(s);
}
void repeated_layer(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::fused, Producer::fused});
}
void one_fused_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
}

}  // namespace

void add_beta_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-04", "NVIDIA/Megatron-LM#6965",
           "is_first_microbatch is armed for the first call, so a repeated layer's overwriting call runs "
           "last",
           "W5", repeated_layer, call_order},
          {"B-05", "NVIDIA/Megatron-LM#6279 (review)",
           "an autograd op overwrites in the first microbatch although another use has written already", "W5",
           repeated_layer, overwrite_by_index},
          {"B-08", "NVIDIA/Megatron-LM#6357",
           "the overwrite flag is set for every sharding strategy, persistent ones too", "W4",
           persistent_two_microbatches, overwrite_persistent},
          {"B-09", "Megatron-LM tensor_parallel/layers.py (read)",
           "one linear layer under FSDP always overwrites, also a persistent buffer", "W4",
           persistent_two_microbatches, overwrite_one_layer},
          {"B-11", "Megatron-LM core/utils.py (read)",
           "a deferred embedding gradient is accumulated onto a fresh lease", "W4", one_fused_in_lease,
           accumulate_on_lease},
      });
}

}  // namespace shardcheck
