// A GEMM whose sum is exact and rounded once: profiles with Summation::exact. Called by gemm, which has
// checked the problem. Read next: exact_sum.h, the last resort.
#pragma once

#include <cstddef>
#include <span>

#include "core/numerics/gemm.h"

namespace shardcheck {

/// D = alpha * A^T B + beta * C, scales inside, rounded once to the output type, nearest even; an exact zero
/// is +0. Exactness class: exact.
void exact_gemm(const GemmProblem& problem, std::span<const std::byte> c, std::span<std::byte> d);

}  // namespace shardcheck
