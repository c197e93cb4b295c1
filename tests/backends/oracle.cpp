#include "tests/backends/oracle.h"

#include <bit>
#include <cmath>

#include "core/numerics/cast_policy.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/numerics/exact_sum.h"

namespace shardcheck::test {
namespace {

const Format& format(DType type) {
  return format_of(*format_id_of(type));
}

std::uint32_t mask(DType type) {
  return type == DType::f32 ? 0xFFFFFFFFu : 0xFFFFu;
}

/// Fraction bits, and the code of 1.
int fraction_bits(DType type) {
  return type == DType::f32 ? 23 : type == DType::bf16 ? 7 : 10;
}
std::uint32_t one(DType type) {
  return rounded(type, 1.0);
}

std::uint32_t sign(DType type) {
  return type == DType::f32 ? 0x80000000u : 0x8000u;
}

}  // namespace

double value_of(DType type, std::uint32_t code) {
  return type == DType::f32 ? std::bit_cast<float>(code) : decode(format(type), code);
}

std::uint32_t rounded_sum(DType type, std::span<const double> terms) {
  ExactSum exact;
  double specials = 0;
  bool negative_zero = true;
  for (double term : terms) {
    negative_zero &= term == 0 && std::signbit(term);
    if (std::isfinite(term)) {
      exact.add(term);
    } else {
      specials += term;
    }
  }
  if (specials != 0 || std::isnan(specials)) {
    return encode(format(type), kIeee, std::bit_cast<std::uint32_t>(static_cast<float>(specials)));
  }
  Dyadic value = exact.value();
  if (value.significand == 0) value.negative = negative_zero;
  return encode(format(type), kIeee, value);
}

std::uint32_t rounded(DType type, double value) {
  return rounded_sum(type, std::span(&value, 1));
}

bool same(DType type, std::uint32_t a, std::uint32_t b) {
  return a == b || (std::isnan(value_of(type, a)) && std::isnan(value_of(type, b)));
}

std::uint32_t random_code(DType type, std::mt19937_64& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  switch (random() % 8) {
    case 0: return sign(type) & bits;                                                 // signed zeros
    case 1: return (bits & sign(type)) | (bits & ((1u << fraction_bits(type)) - 1));  // subnormals
    case 2: return (one(type) + (bits & 3) - 2) | (bits & sign(type));                // neighbours of 1
    case 3:
      return bits % 4 != 0
                 ? random_number(type, random)  // infinities and NaN, rarer
                 : (bits & sign(type)) |
                       (value_of(type, bits & mask(type)) < 0 ? rounded(type, INFINITY) : rounded(type, NAN));
    case 4:
    case 5: return random_number(type, random);
    default: return bits & mask(type);
  }
}

std::uint32_t random_number(DType type, std::mt19937_64& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  const std::uint32_t exponents = 8u << fraction_bits(type);
  const std::uint32_t fraction = random() % 2 != 0 ? bits : bits & (0xFu << (fraction_bits(type) - 4));
  return (one(type) - exponents / 2 + fraction % exponents) |
         (static_cast<std::uint32_t>(random()) & sign(type));
}

}  // namespace shardcheck::test
