#include "core/numerics/vector_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/numerics/gemm_elements.h"

namespace shardcheck {

using namespace gemm_elements;

namespace {

constexpr std::int32_t kLargestExponent = 50;
constexpr std::int64_t kMostProducts = std::int64_t{1} << 20;
constexpr int kFloatFraction = 23, kFloatBias = 127, kDoubleFraction = 52;

/// Lanes of a machine vector: wider ones are taken apart by the compiler, not always well.
#if defined(__AVX512F__)
constexpr int kVector = 16;
#elif defined(__AVX2__)
constexpr int kVector = 8;
#else
constexpr int kVector = 4;
#endif
static_assert(kLanes % kVector == 0);

using Floats [[gnu::vector_size(kVector * sizeof(float))]] = float;
using Integers [[gnu::vector_size(kVector * sizeof(std::int32_t))]] = std::int32_t;
using Doubles [[gnu::vector_size(kVector * sizeof(double))]] = double;
using LongIntegers [[gnu::vector_size(kVector * sizeof(std::int64_t))]] = std::int64_t;

template <class Vector, class Element>
Vector load(const Element* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

/// 2^exponent, exponents of normal fp32 numbers.
Floats powers_of_two(Integers exponent) {
  return std::bit_cast<Floats>((exponent + kFloatBias) << kFloatFraction);
}

/// Toward zero, which is what C++ says of a conversion.
Integers truncated(Floats values) {
  return __builtin_convertvector(values, Integers);
}

/// Accumulators with their exponents.
struct Sums {
  Floats value{};
  Integers exponent = kZeroExponent - Integers{};
};

/// Operands of a step at hand: [count] of A, each kLanes apart, [count] of B.
struct Step {
  const float* a;
  const std::int32_t* a_exponent;
  const float* b;
  const std::int32_t* b_exponent;
  int count;
};

Integers largest_exponent(const Step& step, Integers largest) {
#pragma GCC unroll 8
  for (int i = 0; i < step.count; ++i) {
    const Integers exponent = load<Integers>(step.a_exponent + i * kLanes) + step.b_exponent[i];
    largest = exponent > largest ? exponent : largest;
  }
  return largest;
}

Integers sum_of_products(const Step& step, Floats to_integer) {
  Integers sum{};
#pragma GCC unroll 8
  for (int i = 0; i < step.count; ++i)
    sum += truncated(load<Floats>(step.a + i * kLanes) * step.b[i] * to_integer);
  return sum;
}

/// products + accumulator, cut to `kept` fraction bits, as fp32: for sums of more than 31 bits.
Floats total_in_double(Integers products, Integers accumulator, int kept) {
  const Doubles total =
      __builtin_convertvector(products, Doubles) + __builtin_convertvector(accumulator, Doubles);
  const std::int64_t cut = -(std::int64_t{1} << (kDoubleFraction - kept));
  return __builtin_convertvector(std::bit_cast<Doubles>(std::bit_cast<LongIntegers>(total) & cut), Floats);
}

/// The same for sums below 2^24, which fp32 holds.
Floats total_in_float(Integers products, Integers accumulator, int kept) {
  const Floats total = __builtin_convertvector(products + accumulator, Floats);
  const std::int32_t cut = -(std::int32_t{1} << (kFloatFraction - kept));
  return std::bit_cast<Floats>(std::bit_cast<Integers>(total) & cut);
}

enum class Width { narrow, wide };

template <Width width>
void add_step(Sums& sums, const Accumulator& rule, const Step& step) {
  const Integers largest = largest_exponent(step, sums.exponent);
  // Where all products and the accumulator are zero, any exponent will do.
  const Integers exponent = largest > -2 * kLargestExponent ? largest : -2 * kLargestExponent - Integers{};
  const Floats to_integer = powers_of_two(rule.alignment_bits - exponent);
  const Integers products = sum_of_products(step, to_integer);
  const Integers accumulator = truncated(sums.value * to_integer);
  const Floats total = width == Width::wide ? total_in_double(products, accumulator, rule.kept_bits)
                                            : total_in_float(products, accumulator, rule.kept_bits);
  sums.value = total * powers_of_two(exponent - rule.alignment_bits);
  const Integers bits = std::bit_cast<Integers>(sums.value);
  const Integers own = ((bits >> kFloatFraction) & 0xff) - kFloatBias;
  sums.exponent = sums.value == 0.0f ? kZeroExponent - Integers{} : own;
}

template <Width width>
Sums sum_steps(const Accumulator& rule, Step step, std::int64_t products) {
  Sums sums;
  for (; products >= rule.products_per_step; products -= rule.products_per_step) {
    step.count = rule.products_per_step;
    add_step<width>(sums, rule, step);
    step.a += step.count * kLanes, step.a_exponent += step.count * kLanes;
    step.b += step.count, step.b_exponent += step.count;
  }
  step.count = static_cast<int>(products);
  if (products > 0) add_step<width>(sums, rule, step);
  return sums;
}

bool is_moderate(const OperandView& view, std::int64_t rows, std::int64_t k) {
  const Format& format = format_of(view.format);
  if (format.width() == 8) {
    // Of FP8 only NaN and infinity are not.
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        const auto code = static_cast<std::uint32_t>(
            view.codes[static_cast<std::size_t>(row * view.row_stride + i * view.k_stride)]);
        if (format.is_nan(code) || format.is_infinity(code)) return false;
      }
    }
    return true;
  }
  const OperandReader read(view);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < k; ++i) {
      const double value = std::abs(static_cast<double>(read(row, i)));
      if (value != 0 && !(value >= 0x1p-50 && value < 0x1p51)) return false;
    }
  }
  return true;
}

}  // namespace

bool VectorSums::can_hold(const Accumulator& rule, const GemmProblem& problem) {
  constexpr int kIntegerBits = 31;
  const bool step_fits = rule.alignment_bits < kIntegerBits &&
                         rule.products_per_step * 4 <= std::int64_t{1}
                                                           << (kIntegerBits - rule.alignment_bits);
  return step_fits && rule.kept_bits <= kFloatFraction && problem.k < kMostProducts &&
         is_moderate(problem.a, problem.m, problem.k) && is_moderate(problem.b, problem.n, problem.k);
}

VectorSums::Operand VectorSums::pack(const OperandView& view, std::int64_t rows, std::int64_t k,
                                     std::int64_t lanes) {
  const std::int32_t smallest = format_of(view.format).smallest_exponent();
  const OperandReader read(view);
  const auto size = static_cast<std::size_t>(round_up(rows, lanes) * k);
  Operand packed{std::vector<float>(size, 0.0f), std::vector<std::int32_t>(size, kZeroExponent)};
  for (std::int64_t panel = 0; panel < rows; panel += lanes) {
    const std::int64_t used = std::min(lanes, rows - panel);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t lane = 0; lane < used; ++lane) {
        const float value = read(panel + lane, i);
        const auto at = static_cast<std::size_t>(panel * k + i * lanes + lane);
        packed.value[at] = value;
        if (value != 0) packed.exponent[at] = std::max(exponent_of(value), smallest);
      }
    }
  }
  return packed;
}

VectorSums::VectorSums(const Accumulator& rule, const GemmProblem& problem)
    : rule_(rule),
      k_(problem.k),
      a_(pack(problem.a, problem.m, problem.k, kLanes)),
      b_(pack(problem.b, problem.n, problem.k, 1)) {}

void VectorSums::sum(std::int64_t row, std::int64_t column, ProductRange range, float* sums) const {
  const std::int64_t a = row * k_ + range.begin * kLanes, b = column * k_ + range.begin;
  // A step of n products and the accumulator is below (4 n + 2) 2^F; fp32 holds integers up to 2^24.
  constexpr int kFloatBits = 24;
  const std::int64_t most = std::int64_t{rule_.products_per_step * 4 + 2} << rule_.alignment_bits;
  const bool fits_float = most <= std::int64_t{1} << kFloatBits;
  for (int lane = 0; lane < kLanes; lane += kVector) {
    const Step step{.a = a_.value.data() + a + lane,
                    .a_exponent = a_.exponent.data() + a + lane,
                    .b = b_.value.data() + b,
                    .b_exponent = b_.exponent.data() + b,
                    .count = 0};
    const std::int64_t products = range.end - range.begin;
    const Sums result = fits_float ? sum_steps<Width::narrow>(rule_, step, products)
                                   : sum_steps<Width::wide>(rule_, step, products);
    std::memcpy(sums + lane, &result.value, sizeof result.value);
  }
}

}  // namespace shardcheck
