// The reference backend: every virtual rank in one process, one op after the other in the order of the plan.
// Deterministic, and exact by the arithmetic profile that it is given. Streams and events change nothing
// here, because the plan's order is one of the orders that they allow. Next: cpu/memory.h (buffers),
// elementwise.h, gemm.h and collectives.h (the families of ops).
#pragma once

#include <memory>

#include "core/backend.h"
#include "core/numerics/profile.h"

namespace shardcheck {

/// `profile` must outlive the backend. Buffers keep their storage between plans, so that a backend which is
/// used again allocates nothing.
std::unique_ptr<Backend> make_cpu_backend(const ArithmeticProfile& profile);

}  // namespace shardcheck
