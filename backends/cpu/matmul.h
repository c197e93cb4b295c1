// Matmul on one rank: a GEMM in cuBLASLt's view by core/numerics gemm() under the backend's profile. What the
// op means is matmul_problem.h.
#pragma once

#include "backends/cpu/matmul_problem.h"
#include "backends/cpu/memory.h"

namespace shardcheck::cpu {

struct MatmulRanges {
  Range a, b, scales_a, scales_b;
  Range d;  ///< apart from the operands
};

/// Error(bad_input) with the sentence when `profile` says nothing about the op.
void matmul(const ArithmeticProfile& profile, const Matmul& op, const MatmulRanges& ranges);

}  // namespace shardcheck::cpu
