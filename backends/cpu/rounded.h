// Sums and products that are rounded exactly once to an element type, with the proofs. fp32 is used as the
// wider type wherever a second rounding is provably harmless, because it vectorises four times wider than
// anything else. Next: cpu/elementwise.cpp and cpu/collectives.cpp, which loop over them.
#pragma once

#include <type_traits>

#include "backends/cpu/element.h"

namespace shardcheck::cpu {

/// a + b rounded once to D, where a is a value of D and b one of S.
///
/// D = fp32: the fp32 addition is the rounding.
///
/// D = S = bf16 or fp16 (p = 8 or 11 bits): fp32 (P = 24 bits), then D. Two roundings, yet equal to one
/// because P > 2p. Let s = a + b with |a| >= |b|, 2^e <= |s| < 2^(e+1), and u = 2^(e-p+1) the ulp of D at s.
/// Two roundings differ from one only when fp32 gives a midpoint m of D, an odd multiple of u/2, although s
/// != m; then 0 < |s - m| <= 2^(e-P). As |a| >= 2^(e-1), a is a multiple of u/2 like m, so s - m = k u/2 + b
/// for an integer k.
/// - k = 0, a = m: with |a| >= 2^e, a would be a multiple of u, which m is not. With |a| < 2^e <= |s|, |a| is
/// at most
///   2^e - u/2, so |b| >= u/2; but |b| = |s - m| <= 2^(e-P) < u/2.
/// - k != 0: |b| >= u/2 - 2^(e-P) > u/4, so b is a multiple of 2^(e-2p), as u/2 is, and so is s - m. Not
/// being zero,
///   it is at least 2^(e-2p) > 2^(e-P).
/// Both contradict. Subnormal sums are multiples of D's smallest number and exact in both types; the overflow
/// threshold of D is a midpoint in the sense above.
///
/// Otherwise (fp32 or the other 16-bit type into a 16-bit type) b may be a hair that decides a tie, so the
/// fp32 sum is rounded to odd. Its error is exact (Dekker: the larger term is subtracted first, and nothing
/// overflows unless the sum does, which is an infinity of D as well).
template <class D, class S>
typename D::Stored rounded_sum(float a, float b) {
  if constexpr (std::is_same_v<D, F32> || std::is_same_v<D, S>) {
    return D::narrow(a + b);
  } else {
    const float sum = a + b;
    const std::uint32_t a_bits = std::bit_cast<std::uint32_t>(a), b_bits = std::bit_cast<std::uint32_t>(b);
    const bool a_is_larger = (a_bits << 1) >= (b_bits << 1);
    const float larger = std::bit_cast<float>(a_is_larger ? a_bits : b_bits);
    const float smaller = std::bit_cast<float>(a_is_larger ? b_bits : a_bits);
    return D::narrow(to_odd(sum, smaller - (sum - larger)));
  }
}

/// Calls visit(product), where product(x) is x * factor rounded once to E, for x a value of E.
///
/// In fp32 the multiplication is the rounding. In a 16-bit type fp32 first and then E would be two roundings,
/// and differ from one: bf16 1.7578125 * fp32 0x1.4b17e4p0 = 0x1.22ffff64p1, which fp32 rounds up to the tie
/// 0x1.23p1. So fp32 serves only where the product is exact in it (powers of two, and the 1/R of averages
/// over up to 256 ranks); otherwise double does, where it is exact always (24 + 11 bits, exponents within
/// +-282).
template <class E, class Visit>
void with_product(float factor, Visit visit) {
  if constexpr (Narrow<E>) {
    if (!product_is_exact_in_f32<E>(factor)) {
      return visit([factor](float x) { return narrow_once<E>(static_cast<double>(x) * factor); });
    }
  }
  visit([factor](float x) { return E::narrow(x * factor); });
}

}  // namespace shardcheck::cpu
