// The joint backend: a machine whose ranks several processes hold, with what they must agree on
// (core/joint.h). It wraps the part that this process has: the cluster backend, or a CUDA backend that is one
// of several (backends/cuda/world.h). Before a plan runs, the processes make sure that it is the same one on
// all of them. Next: verdict.h.
#pragma once

#include <memory>

#include "backends/cluster/transport.h"
#include "core/joint.h"

namespace shardcheck {

/// `transport` must outlive the backend. Every rank of a plan is held by exactly one of the parts.
std::unique_ptr<Joint> make_joint_backend(std::unique_ptr<Backend> part, Transport& transport);

/// The whole of it as a backend of its own.
std::unique_ptr<Backend> make_whole_backend(std::unique_ptr<Joint> joint);

}  // namespace shardcheck
