// Owner: who keeps the gradient buffers of a job (wgrad 3). The planner tells it what happens in the training
// loop; it appends the ops that follow. persistent_owner.cpp has the strategies that keep one buffer for the
// whole step, lease_owner.cpp those that lend a temporary one for each backward; rows.h names what they do.
#pragma once

#include <memory>
#include <vector>

#include "sim/planner/job.h"

namespace shardcheck {

/// A piece of a parameter's destination: `view` holds its elements from `first` on.
struct Piece {
  View view;
  std::int64_t first = 0;
};

class Owner {
 public:
  virtual ~Owner() = default;

  /// Allocates what lives as long as the job.
  virtual void setup() = 0;
  /// Makes the destinations ready for the contributions of a step.
  virtual void begin_step() = 0;
  /// The parameters of this FSDP unit are gathered, for forward or backward; today's owners set flags here.
  virtual void unshard(std::int32_t unit) = 0;
  /// The destination of the parameter's gradient, the same views on every rank; opens a lease where there is
  /// none. One piece where the layout keeps parameters whole, which it does wherever producers may be fused.
  virtual std::vector<Piece> acquire(std::int32_t parameter) = 0;
  /// All uses of the parameter in this backward, on all ranks, have been handled by the hook.
  virtual void parameter_done(std::int32_t parameter) = 0;
  /// The backward of a microbatch is over; `last` is the marker of the step's last one.
  virtual void end_backward(bool last) = 0;
  /// The attempt at the step is given up: collectives have been waited for, and the step begins again. All
  /// that the owner counted goes, and open leases are returned.
  virtual void abort_step() = 0;
  /// A fresh process goes on: its buffers are undefined, and nothing has been learned.
  virtual void resume() = 0;
  /// The step's gradients become readable for the consumer, who then reads them.
  virtual void finish() = 0;
};

std::unique_ptr<Owner> make_persistent_owner(Job& job);
std::unique_ptr<Owner> make_lease_owner(Job& job);
inline std::unique_ptr<Owner> make_owner(Job& job) {
  return has_leases(job.scenario.strategy) ? make_lease_owner(job) : make_persistent_owner(job);
}

}  // namespace shardcheck
