// Storage words: what the ops of a planned step read and write, in words: the access sets of plan --model.
// Next: model_plan.h.
#pragma once

#include <string>

#include "sim/cost/step.h"

namespace shardcheck {

/// Where a system keeps weights and gradients.
class StorageWords {
 public:
  StorageWords(const cost::System& system, bool is_staged) : system_(system), is_staged_(is_staged) {}

  std::string reads(cost::Work work) const;
  std::string writes(cost::Work work) const;

 private:
  bool has_leases() const { return system_.sharded >= cost::Sharded::gradients; }
  std::string weights() const;      ///< what products read
  std::string kept() const;         ///< what is kept of weights
  std::string destination() const;  ///< where a weight gradient is written
  std::string wire() const;         ///< what a collective reads
  std::string running() const;      ///< where gradients add up

  const cost::System& system_;
  bool is_staged_;
};

}  // namespace shardcheck
