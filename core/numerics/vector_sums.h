// The fast way to take the steps of aligned_sum.h: sixteen outputs at a time, products in fp32, sums in
// 32-bit integers, in vectors that the compiler maps onto the machine's. For operands whose exponents are
// moderate, which is nearly all of them; equal to the readable way on every bit
// (tests/core/numerics/vector_sums_test.cpp). Next: aligned_gemm.cpp, which chooses.
//
// Why every intermediate is exact:
// - a product of two significands has at most 22 bits, so fp32 holds it; its exponent lies in [-100, 102].
// - times 2^(F-E), a power of two, it is below 4 * 2^F <= 2^27 and, where fp32 would lose bits to underflow,
//   so small that truncation leaves 0.
// - the n integers of a step sum to less than 4 n 2^F, which can_hold keeps at 2^31 or below: n = 16, F = 25
//   (not reached: significands are below 2 by at least 2^-10), n = 8, F = 24, and 2^20 for n = 32, F = 13;
//   not n = 32, F = 25, which goes the readable way. The accumulator is added in double where the sum may
//   pass 2^31, else in the same integers.
// - an accumulator has at most 24 bits, so fp32 holds it; it is normal (at least 2^-125) and below 2^124.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numerics/aligned_sum.h"
#include "core/numerics/gemm.h"

namespace shardcheck {

/// Part of K, in products.
struct ProductRange {
  std::int64_t begin;
  std::int64_t end;
};

class VectorSums {
 public:
  /// True when all elements of A and B are zero or finite with exponents in [-50, 50], k is below 2^20, and a
  /// step of the rule fits the integers and an accumulator fp32, as those of `hopper` do.
  static bool can_hold(const Accumulator& rule, const GemmProblem& problem);

  VectorSums(const Accumulator& rule, const GemmProblem& problem);

  /// The accumulators of the rows [row, row + kLanes) and one column over a range of K, from zero. `row` is a
  /// multiple of kLanes; rows past the end have zeros.
  void sum(std::int64_t row, std::int64_t column, ProductRange range, float* sums) const;

 private:
  struct Operand {
    std::vector<float> value;
    std::vector<std::int32_t> exponent;  ///< kZeroExponent for zero
  };
  static Operand pack(const OperandView& view, std::int64_t rows, std::int64_t k, std::int64_t lanes);

  Accumulator rule_;
  std::int64_t k_;
  Operand a_;  ///< [panel of kLanes rows][k][lane]
  Operand b_;  ///< [column][k]
};

}  // namespace shardcheck
