// The reference backend: every virtual rank in one process, one op after the other in the order of the plan.
// Deterministic, and exact by the arithmetic profile that it is given. Streams and events change nothing
// here, because the plan's order is one of the orders that they allow. Next: cpu/memory.h (buffers),
// elementwise.h,
// casts.h, gemm.h, matmul.h and collectives.h (the families of ops).
#pragma once

#include <cstdint>
#include <memory>

#include "core/backend.h"
#include "core/numerics/profile.h"

namespace shardcheck {

/// `profile` must outlive the backend. Buffers keep their storage between plans, so that a backend which is
/// used again allocates nothing. Reductions add in ascending order of the ranks.
std::unique_ptr<Backend> make_cpu_backend(const ArithmeticProfile& profile);

/// The same, but reductions add in the order of `gpus` GPUs (backends/fold_order.h), at least 1.
std::unique_ptr<Backend> make_cpu_backend(const ArithmeticProfile& profile, std::int32_t gpus);

}  // namespace shardcheck
