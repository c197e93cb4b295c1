#include "backends/cpu/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/cpu/element.h"
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

struct OuterProduct {
  const float* dy;
  const float* x;
  std::int64_t rows, columns;
};

/// One fused multiply-add an element is the exact sum rounded once. An exact sum that is zero is +0 whatever
/// the signs of its terms; the +0 added to the start sees to that, because +0 + -0 = +0. NaN becomes the
/// canonical one.
template <bool kAccumulate>
void outer_product(const OuterProduct& p, float* __restrict destination) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const float dy = p.dy[row];
    float* __restrict to = destination + row * p.columns;
    for (std::int64_t column = 0; column < p.columns; ++column) {
      const float sum = std::fma(dy, p.x[column], kAccumulate ? to[column] + 0.0f : 0.0f);
      to[column] = sum == sum ? sum : std::numeric_limits<float>::quiet_NaN();
    }
  }
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

/// One token, fp32 output and exact sums: no more than a multiply-add an element.
bool GemmUnit::run_outer_product(const Gemm& gemm, const GemmRanges& ranges) {
#ifdef __FMA__
  const bool applies = gemm.tokens == 1 && profile_.summation == Summation::exact &&
                       ranges.destination.dtype == DType::f32 && is_float(ranges.dy.dtype);
  if (!applies) return false;
  const OuterProduct product{as_f32(ranges.dy, dy_f32_), as_f32(ranges.x, x_f32_), gemm.rows, gemm.columns};
  auto* destination = reinterpret_cast<float*>(ranges.destination.data);
  if (gemm.accumulate) {
    outer_product<true>(product, destination);
  } else {
    outer_product<false>(product, destination);
  }
  return true;
#else
  return false;  // std::fma would be a call into the library, slower than wgrad()
#endif
}

/// Exact sums of numbers that are close enough in magnitude for double, such as integers and what provenance
/// writes.
bool GemmUnit::run_in_double(const Gemm& gemm, const GemmRanges& ranges) {
  const Range& destination = ranges.destination;
  if (profile_.summation != Summation::exact || !is_float(ranges.dy.dtype) || !is_float(destination.dtype))
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
  if (gemm.tokens > 0 && run_outer_product(gemm, ranges)) return;
  if (gemm.tokens > 1 && run_in_double(gemm, ranges)) return;
  wgrad(profile_, ranges.dy.dtype, bytes(ranges.dy), bytes(ranges.x), gemm.tokens, gemm.rows, gemm.columns,
        gemm.accumulate, ranges.destination.dtype,
        {ranges.destination.data, static_cast<std::size_t>(ranges.destination.bytes())});
}

}  // namespace shardcheck::cpu
