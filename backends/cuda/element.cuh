// The float types of elementwise kernels: how each widens to fp32, which is exact, and narrows from it, which
// is one rounding to nearest even, with the NaN codes of core/numerics/narrow.h; and arithmetic that rounds
// exactly once. Invariant: every function gives the bits of its namesake in backends/cpu/element.h and
// rounded.h, where the proofs are. fp32 is kept as its bits, so that a NaN's payload survives. Next:
// elementwise.cu.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace shardcheck::gpu {

struct F32 {
  using Stored = std::uint32_t;
  static __device__ float widen(Stored bits) { return __uint_as_float(bits); }
  static __device__ Stored narrow(float value) { return __float_as_uint(value); }
};

struct Bf16 {
  using Stored = std::uint16_t;
  static __device__ float widen(Stored code) {
    return __uint_as_float(static_cast<std::uint32_t>(code) << 16);
  }
  /// The conversion instruction writes NaN as 0x7FFF.
  static __device__ Stored narrow(float value) {
    return value != value ? Stored{0x7FC0} : __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
};

struct F16 {
  using Stored = std::uint16_t;
  /// The conversion instruction drops a NaN's payload; here it moves up as in f16_to_f32.
  static __device__ float widen(Stored code) {
    const std::uint32_t magnitude = code & 0x7FFFu;
    if (magnitude > 0x7C00u) {
      return __uint_as_float((code & 0x8000u) << 16 | magnitude << 13 | 0x7F800000u);
    }
    return __half2float(__ushort_as_half(code));
  }
  static __device__ Stored narrow(float value) {
    return value != value ? Stored{0x7E00} : __half_as_ushort(__float2half_rn(value));
  }
};

/// A 16-bit type rounds apart from fp32.
template <class E>
inline constexpr bool kIsNarrow = !std::is_same_v<E, F32>;

/// The NaN that x86 gives for an operation on a and b, in this order: the first NaN among them made quiet,
/// else the default NaN. A GPU would give 0x7FFFFFFF; the reference's bits let an undefined read be compared
/// bit for bit.
inline __device__ float nan_of(float a, float b) {
  constexpr std::uint32_t kQuiet = 0x00400000u;
  if (a != a) return __uint_as_float(__float_as_uint(a) | kQuiet);
  if (b != b) return __uint_as_float(__float_as_uint(b) | kQuiet);
  return __uint_as_float(0xFFC00000u);
}

inline __device__ float add_rn(float a, float b) {
  const float sum = __fadd_rn(a, b);
  return sum != sum ? nan_of(a, b) : sum;
}
inline __device__ float subtract_rn(float a, float b) {
  const float difference = __fsub_rn(a, b);
  return difference != difference ? nan_of(a, b) : difference;
}
inline __device__ float multiply_rn(float a, float b) {
  const float product = __fmul_rn(a, b);
  return product != product ? nan_of(a, b) : product;
}

/// cpu::to_odd for fp32.
inline __device__ float to_odd(float nearest, double error) {
  const std::uint32_t bits = __float_as_uint(nearest);
  const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
  if (error == 0 || (bits & 1u) != 0 || !finite) return nearest;
  const bool outward = (error > 0) == (nearest > 0);
  return __uint_as_float(outward ? bits + 1 : bits - 1);
}

/// cpu::to_odd for double.
inline __device__ double to_odd(double nearest, double error) {
  const long long bits = __double_as_longlong(nearest);
  const bool finite = (bits & 0x7FF0000000000000LL) != 0x7FF0000000000000LL;
  if (error == 0 || (bits & 1) != 0 || !finite) return nearest;
  const bool outward = (error > 0) == (nearest > 0);
  return __longlong_as_double(outward ? bits + 1 : bits - 1);
}

/// cpu::narrow_once: a double rounded once to E.
template <class E>
__device__ typename E::Stored narrow_once(double exact) {
  static_assert(kIsNarrow<E>);
  const float nearest = __double2float_rn(exact);
  if (nearest == 0) return E::narrow(nearest);
  const double error = __dsub_rn(exact, static_cast<double>(nearest));
  return E::narrow(to_odd(nearest, error));
}

/// cpu::rounded_sum: a + b rounded once to D, where a is a value of D and b one of S.
template <class D, class S>
__device__ typename D::Stored rounded_sum(float a, float b) {
  if constexpr (std::is_same_v<D, F32> || std::is_same_v<D, S>) {
    return D::narrow(add_rn(a, b));
  } else {
    const double x = a, y = b;
    const double sum = __dadd_rn(x, y);
    const double y_part = __dsub_rn(sum, x);
    const double error = __dadd_rn(__dsub_rn(x, __dsub_rn(sum, y_part)), __dsub_rn(y, y_part));
    return narrow_once<D>(to_odd(sum, error));
  }
}

/// Whether a product with a 16-bit number needs double to be rounded once; the host finds out
/// (cpu::product_is_exact_in_f32).
enum class ProductIn : std::uint8_t { f32, f64 };

/// The product of cpu::with_product: x * factor rounded once to E, for x a value of E.
template <class E>
__device__ typename E::Stored rounded_product(float x, float factor, ProductIn in) {
  if constexpr (kIsNarrow<E>) {
    if (in == ProductIn::f64)
      return narrow_once<E>(__dmul_rn(static_cast<double>(x), static_cast<double>(factor)));
  }
  return E::narrow(multiply_rn(x, factor));
}

/// Elements that a thread handles together: one or two accesses of 16 bytes for 2 and 4 bytes an element.
inline constexpr int kPack = 8;

template <class T>
struct alignas(kPack * sizeof(T) < 16 ? kPack * sizeof(T) : 16) Pack {
  T value[kPack];
};

}  // namespace shardcheck::gpu
