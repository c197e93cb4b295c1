#include "backends/cpu/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/cpu/element.h"
#include "backends/cpu/operand_profile.h"
#include "backends/cpu/rounded.h"
#include "core/assert.h"
#include "core/numerics/gemm.h"

namespace shardcheck::cpu {
namespace {

template <class E>
const typename E::Stored* elements(const Range& range, E) {
  return reinterpret_cast<const typename E::Stored*>(range.data);
}

/// The range in fp32: itself, or a copy in `storage`.
const float* as_f32(const Range& range, std::vector<float>& storage) {
  if (range.dtype == DType::f32) return reinterpret_cast<const float*>(range.data);
  storage.resize(static_cast<std::size_t>(range.numel));
  with_element(range.dtype, [&](auto e) {
    const auto* from = elements(range, e);
    float* to = storage.data();
    for (std::int64_t i = 0; i < range.numel; ++i) to[i] = decltype(e)::widen(from[i]);
  });
  return storage.data();
}

/// Where the bits of some numbers lie: each is a multiple of 2^lowest and below 2^above. Zeros have no bits.
struct Exponents {
  int lowest = 4000, above = -4000;
  bool finite = true;
};

/// No number that comes from fp32 is subnormal in double, so the fields say all.
Exponents exponents_of(const double* values, std::int64_t count) {
  Exponents found;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const int field = static_cast<int>((bits >> 52) & 0x7FF);
    if (field == 0) continue;
    found.finite &= field != 0x7FF;
    found.above = std::max(found.above, field - 1022);
    found.lowest = std::min(found.lowest, field - 1075 + (fraction == 0 ? 52 : std::countr_zero(fraction)));
  }
  return found;
}

struct OuterProduct {
  const float* dy;
  const float* x;
  std::int64_t rows, columns;
};

/// Calls element(dy, x, place of the result) for every element of the product.
template <class Stored, class Element>
void for_each_element(const OuterProduct& p, Stored* __restrict destination, Element element) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const float dy = p.dy[row];
    Stored* __restrict to = destination + row * p.columns;
    for (std::int64_t column = 0; column < p.columns; ++column) element(dy, p.x[column], to[column]);
  }
}

/// What wgrad() writes for a NaN.
float canonical(float value) {
  return value == value ? value : std::numeric_limits<float>::quiet_NaN();
}

/// Narrowing makes a NaN canonical by itself.
template <class E>
typename E::Stored canonical_code(typename E::Stored stored) {
  if constexpr (Narrow<E>) {
    return stored;
  } else {
    return canonical(stored);
  }
}

// In both ways a sum that is exactly zero is +0 whatever the signs of its terms: the +0 sees to that, because
// +0 + -0 = +0.

/// The exact sum of a product and the start value, rounded once to fp32, is a fused multiply-add.
void fused_outer_product(const OuterProduct& p, float* destination, bool accumulate) {
  if (accumulate) {
    for_each_element(p, destination,
                     [](float dy, float x, float& to) { to = canonical(std::fma(dy, x, to + 0.0f)); });
  } else {
    for_each_element(p, destination,
                     [](float dy, float x, float& to) { to = canonical(std::fma(dy, x, 0.0f)); });
  }
}

/// How an outer product ends in its destination.
enum class Ending { overwrite, add_exact_product, add_rounded_product };

/// For products that are exact in fp32, in a destination of type E: rounded to E, or added to what is there
/// with or without a rounding to E before.
template <class E>
void separate_outer_product(const OuterProduct& p, typename E::Stored* destination, Ending ending) {
  using Stored = typename E::Stored;
  const auto product = [](float dy, float x) { return dy * x + 0.0f; };
  switch (ending) {
    case Ending::overwrite:
      return for_each_element(p, destination, [=](float dy, float x, Stored& to) {
        to = canonical_code<E>(E::narrow(product(dy, x)));
      });
    case Ending::add_exact_product:
      return for_each_element(p, destination, [=](float dy, float x, Stored& to) {
        to = canonical_code<E>(rounded_sum<E, F32>(E::widen(to), product(dy, x)));
      });
    case Ending::add_rounded_product:
      return for_each_element(p, destination, [=](float dy, float x, Stored& to) {
        const float rounded = E::widen(E::narrow(product(dy, x)));
        to = canonical_code<E>(rounded_sum<E, E>(E::widen(to), rounded));
      });
  }
}

/// The smallest magnitude that is not zero, or infinity.
float smallest_magnitude(const float* values, std::int64_t count) {
  std::uint32_t smallest = 0x7F800000u;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu;
    smallest = std::min(smallest, magnitude == 0 ? 0x7F800000u : magnitude);
  }
  return std::bit_cast<float>(smallest);
}

/// Whether every product of two 16-bit numbers a and b is exact in fp32. They have 11 significant bits at
/// most, so only products near fp32's last place can lose some: a is a multiple of 2^(e(a)-10), and |a b| >=
/// 2^-127 means e(a) + e(b) >= -128, so a b is a multiple of 2^-148. At 2^128 or more everybody gives
/// infinity.
bool products_are_exact(const OuterProduct& p) {
  return double{smallest_magnitude(p.dy, p.rows)} * double{smallest_magnitude(p.x, p.columns)} >= 0x1p-127;
}

/// Whether the accumulator keeps a product that is exact in fp32 and has 2 * 10 fraction bits at most; a
/// promotion would add it to zero.
bool keeps_products(const Accumulator& accumulator) {
  return accumulator.alignment_bits >= 20 && accumulator.kept_bits >= 23;
}

/// The range in double, in `storage`.
const double* as_f64(const Range& range, std::vector<double>& storage) {
  storage.resize(static_cast<std::size_t>(range.numel));
  with_element(range.dtype, [&](auto e) {
    const auto* from = elements(range, e);
    double* to = storage.data();
    for (std::int64_t i = 0; i < range.numel; ++i) to[i] = decltype(e)::widen(from[i]);
  });
  return storage.data();
}

/// Whether every sum of `tokens` products and a start value is exact in double, in any order: all are
/// multiples of 2^lowest, and even the sum of their magnitudes is below 2^(lowest + 53).
bool sums_are_exact(const Exponents& dy, const Exponents& x, const Exponents& start, std::int64_t tokens) {
  if (!dy.finite || !x.finite || !start.finite) return false;
  const int lowest = std::min(dy.lowest + x.lowest, start.lowest);
  const int terms = std::bit_width(static_cast<std::uint64_t>(tokens));  // tokens < 2^terms
  const int above = std::max(dy.above + x.above + terms, start.above) + 1;
  return above - lowest <= 53;
}

bool is_float(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

std::span<const std::byte> bytes(const Range& range) {
  return {range.data, static_cast<std::size_t>(range.bytes())};
}

}  // namespace

/// One token: no more than a multiply and an add an element, in fp32.
bool GemmUnit::run_outer_product(const Gemm& gemm, const GemmRanges& ranges,
                                 const ArithmeticProfile& profile) {
  const Range& destination = ranges.destination;
  if (gemm.tokens != 1 || !is_float(ranges.dy.dtype) || !is_float(destination.dtype)) return false;
  const bool exact = profile.summation == Summation::exact;
  const OuterProduct product{as_f32(ranges.dy, dy_f32_), as_f32(ranges.x, x_f32_), gemm.rows, gemm.columns};
  if (exact && destination.dtype == DType::f32) {
    fused_outer_product(product, reinterpret_cast<float*>(destination.data), gemm.accumulate);
    return true;
  }
  if (ranges.dy.dtype == DType::f32 || !products_are_exact(product)) return false;
  if (!exact && !keeps_products(profile.sixteen_bit)) return false;
  const bool rounds_product = profile.narrow_accumulation == NarrowAccumulation::round_product_then_sum;
  const Ending adding = rounds_product ? Ending::add_rounded_product : Ending::add_exact_product;
  with_element(destination.dtype, [&](auto e) {
    using E = decltype(e);
    separate_outer_product<E>(product, reinterpret_cast<typename E::Stored*>(destination.data),
                              gemm.accumulate ? adding : Ending::overwrite);
  });
  return true;
}

/// Exact sums of numbers that are close enough in magnitude for double, such as integers and what provenance
/// writes.
bool GemmUnit::run_in_double(const Gemm& gemm, const GemmRanges& ranges, const ArithmeticProfile& profile) {
  const Range& destination = ranges.destination;
  if (profile.summation != Summation::exact || !is_float(ranges.dy.dtype) || !is_float(destination.dtype))
    return false;
  const double* dy = as_f64(ranges.dy, dy_f64_);
  const double* x = as_f64(ranges.x, x_f64_);
  if (gemm.accumulate) {
    as_f64(destination, d_f64_);
  } else {
    d_f64_.assign(static_cast<std::size_t>(destination.numel), 0.0);
  }
  const Exponents start = exponents_of(d_f64_.data(), destination.numel);
  if (!sums_are_exact(exponents_of(dy, ranges.dy.numel), exponents_of(x, ranges.x.numel), start, gemm.tokens))
    return false;

  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix> sum(d_f64_.data(), gemm.rows, gemm.columns);
  sum.noalias() += Eigen::Map<const Matrix>(dy, gemm.tokens, gemm.rows).transpose() *
                   Eigen::Map<const Matrix>(x, gemm.tokens, gemm.columns);
  with_element(destination.dtype, [&](auto e) {
    using E = decltype(e);
    auto* to = reinterpret_cast<typename E::Stored*>(destination.data);
    for (std::int64_t i = 0; i < destination.numel; ++i) {
      const double exact = d_f64_[static_cast<std::size_t>(i)] + 0.0;  // an exact sum that is zero is +0
      if constexpr (Narrow<E>) {
        to[i] = narrow_once<E>(exact);
      } else {
        to[i] = static_cast<float>(exact);
      }
    }
  });
  return true;
}

void GemmUnit::run(const Gemm& gemm, const GemmRanges& ranges) {
  SC_ASSERT(gemm.tokens >= 0 && gemm.rows >= 0 && gemm.columns >= 0, "a GEMM has a negative extent");
  SC_ASSERT(ranges.dy.numel == gemm.tokens * gemm.rows, "dy is not tokens x rows");
  SC_ASSERT(ranges.x.numel == gemm.tokens * gemm.columns, "x is not tokens x columns");
  SC_ASSERT(ranges.destination.numel == gemm.rows * gemm.columns, "the destination is not rows x columns");
  SC_ASSERT(ranges.dy.dtype == ranges.x.dtype, "dy and x differ in type");
  SC_ASSERT(!ranges.destination.overlaps(ranges.dy) && !ranges.destination.overlaps(ranges.x),
            "a GEMM writes into its own operand");
  const ArithmeticProfile& profile = profile_for(ranges.dy.dtype, profile_);
  if (gemm.tokens > 0 && run_outer_product(gemm, ranges, profile)) return;
  if (gemm.tokens > 0 && run_in_double(gemm, ranges, profile)) return;
  wgrad(profile, ranges.dy.dtype, bytes(ranges.dy), bytes(ranges.x), gemm.tokens, gemm.rows, gemm.columns,
        gemm.accumulate, ranges.destination.dtype,
        {ranges.destination.data, static_cast<std::size_t>(ranges.destination.bytes())});
}

}  // namespace shardcheck::cpu
