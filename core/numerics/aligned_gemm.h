// A GEMM by steps of an accumulator: profiles with Summation::aligned. Called by gemm, which has checked the
// problem. Read next: aligned_sum.h, the step.
#pragma once

#include <cstddef>
#include <span>

#include "core/numerics/gemm.h"
#include "core/numerics/profile.h"

namespace shardcheck {

/// D = alpha * A^T B + beta * C as `profile`'s chip computes it. Exactness class: exact. Source:
/// tensor-core 1.
void aligned_gemm(const ArithmeticProfile& profile, const GemmProblem& problem, std::span<const std::byte> c,
                  std::span<std::byte> d);

/// The same by the loops that are meant to be read, which also take NaN and infinity.
void readable_aligned_gemm(const ArithmeticProfile& profile, const GemmProblem& problem,
                           std::span<const std::byte> c, std::span<std::byte> d);

}  // namespace shardcheck
