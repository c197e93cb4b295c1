// Additions go into three neighbouring limbs without carrying; carries are resolved before a limb can
// overflow.
#include "core/numerics/exact_sum.h"

#include <bit>
#include <cmath>

#include "core/assert.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kDigitMask = 0xffffffff;

/// The value as integer times power of two.
void split(double value, std::int64_t* significand, int* exponent) {
  int binary_exponent = 0;
  const double fraction = std::frexp(value, &binary_exponent);
  *significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  *exponent = binary_exponent - 53;
}

}  // namespace

void ExactSum::add(std::int64_t significand, int exponent) {
  if (significand == 0) return;
  const bool negative = significand < 0;
  auto magnitude =
      negative ? ~static_cast<std::uint64_t>(significand) + 1 : static_cast<std::uint64_t>(significand);
  // A double's lowest bits may be zeros below the lowest exponent.
  const int zeros = std::countr_zero(magnitude);
  magnitude >>= zeros;
  const int position = exponent + zeros - kLowestExponent;
  SC_ASSERT(position >= 0 && position / 32 + 2 < kLimbs,
            "ExactSum: a term outside the range of five fp32 factors");
  // A limb starts below 2^32 and grows by less than 2^32 an addition.
  if (++additions_ == std::int64_t{1} << 29) carry();

  const auto index = static_cast<std::size_t>(position / 32);
  const int offset = position % 32;
  const std::uint64_t low = (magnitude & kDigitMask) << offset;
  const std::uint64_t high = (magnitude >> 32) << offset;
  const std::int64_t digits[3] = {static_cast<std::int64_t>(low & kDigitMask),
                                  static_cast<std::int64_t>((low >> 32) + (high & kDigitMask)),
                                  static_cast<std::int64_t>(high >> 32)};
  for (std::size_t i = 0; i < 3; ++i) limb_[index + i] += negative ? -digits[i] : digits[i];
}

void ExactSum::add(double value) {
  SC_ASSERT(std::isfinite(value), "ExactSum: only finite numbers have a sum");
  std::int64_t significand = 0;
  int exponent = 0;
  split(value, &significand, &exponent);
  add(significand, exponent);
}

void ExactSum::add(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < kLimbs; ++i) limb_[i] += carried.limb_[i];
  additions_ = 1;
}

void ExactSum::multiply(float factor) {
  SC_ASSERT(std::isfinite(factor), "ExactSum: only finite numbers have a product");
  std::int64_t significand = 0;
  int exponent = 0;
  split(factor, &significand, &exponent);
  // split gives 53 bits of which a float has 24: the shift is exact and leaves room for a 33-bit limb.
  significand >>= 29;
  exponent += 29;
  if (drop_sign()) significand = -significand;
  ExactSum product;
  for (int i = 0; i < kLimbs; ++i) {
    product.add(limb_[static_cast<std::size_t>(i)] * significand, 32 * i + kLowestExponent + exponent);
  }
  *this = product;
}

void ExactSum::carry() {
  std::int64_t carried = 0;
  for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
    const std::int64_t total = limb_[i] + carried;
    limb_[i] = total & kDigitMask;
    carried = total >> 32;  // floor, so that a digit is never negative; the sign ends in the top limb
  }
  limb_[kLimbs - 1] += carried;
  additions_ = 0;
}

bool ExactSum::drop_sign() {
  carry();
  if (limb_[kLimbs - 1] >= 0) return false;
  for (std::int64_t& limb : limb_) limb = -limb;
  carry();
  return true;
}

Dyadic ExactSum::value() const {
  ExactSum magnitude = *this;
  const bool negative = magnitude.drop_sign();
  int top = kLimbs - 1;
  while (top >= 0 && magnitude.limb_[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return {};

  const auto digit = [&](int index) {
    return index < 0 ? std::uint64_t{0}
                     : static_cast<std::uint64_t>(magnitude.limb_[static_cast<std::size_t>(index)]);
  };
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(digit(top)));
  const std::uint64_t third = digit(top - 2) << zeros;
  Dyadic result{.negative = negative,
                .significand = ((digit(top) << 32 | digit(top - 1)) << zeros) | third >> 32,
                .exponent = 32 * (top - 1) + kLowestExponent - zeros,
                .inexact = (third & kDigitMask) != 0};
  for (int i = top - 3; i >= 0; --i) result.inexact |= digit(i) != 0;
  return result;
}

}  // namespace shardcheck
