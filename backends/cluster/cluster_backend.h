// The cluster backend: one plan on the processes of a launch. Each owns a block of the plan's ranks
// (local_plan.h) and executes their ops on a backend of its own; collectives within a block stay there, the
// others cross (crossing.h). Every process must be given the same plans and the same ops in the same order.
// write and read reach owned ranks only: callers ask holds(). Next: verdict.h, which brings the findings
// together.
#pragma once

#include <memory>

#include "backends/cluster/transport.h"
#include "core/backend.h"

namespace shardcheck {

/// `transport` must outlive the backend. The bits are those of the `cpu` backend in one process for every
/// collective that crosses, whatever `local` is: a fault of faulty(cpu, ...) in a collective shows within a
/// block only. With `cuda` as `local` what crosses goes through host memory.
std::unique_ptr<Backend> make_cluster_backend(std::unique_ptr<Backend> local, Transport& transport);

}  // namespace shardcheck
