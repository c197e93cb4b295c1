// Digest: 64 bits that stand for a range of elements, so that two machines compare large ranges without
// moving them. Invariant: ranges of equal digests hold the same codes (core/numerics/same_code.h) but for
// accidents; a range that differs in one 8-byte word always has another digest.
//
// The definition, for machines that compute it in parallel: replace every NaN by nan_rule_of(type).canonical;
// cut the range into little-endian 64-bit words, the last one filled up with zeros; the digest is the sum
// modulo 2^64 of digest_term(word, index) over all words, plus digest_term(numel, -1). A sum has no order.
// digest_term is a bijection of the word for every index, which is why one changed word always shows; several
// changed words cancel with probability about 2^-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/numerics/same_code.h"
#include "core/plan/plan.h"

namespace shardcheck {

/// Odd multipliers and shifts by half the width or a little less: each step can be undone.
constexpr std::uint64_t digest_term(std::uint64_t word, std::int64_t index) {
  std::uint64_t x = word + 0x9E3779B97F4A7C15u * (static_cast<std::uint64_t>(index) + 1);
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 32);
}

/// Canonical NaN codes in all elements of a word at once. With `add`, the sign bit of an element is set
/// exactly where its magnitude exceeds the rule's limit; no carry leaves the element, since magnitude and
/// `add` are each below the sign bit.
struct NanLanes {
  std::uint64_t magnitude;  ///< mask of the bits below each sign
  std::uint64_t add;        ///< sign bit - 1 - limit, in each element
  std::uint64_t sign;       ///< the sign bit of each element
  std::uint64_t canonical;  ///< the canonical NaN in each element
  int sign_shift;           ///< of the sign within an element

  constexpr std::uint64_t canonical_word(std::uint64_t word) const {
    const std::uint64_t is_nan = ((word & magnitude) + add) & sign;
    // Each sign bit that is set becomes an element of ones.
    const std::uint64_t lanes = (is_nan << 1) - (is_nan >> sign_shift);
    return (word & ~lanes) | (canonical & lanes);
  }
};

/// The lanes of nan_rule_of(type). Plain bytes have no NaN: `add` is 0, and no sign bit appears.
constexpr NanLanes nan_lanes_of(DType type) {
  const NanRule rule = nan_rule_of(type);
  const int bits = 8 * bytes_of(type);
  std::uint64_t ones = 0;  // 1 in each element
  for (int at = 0; at < 64; at += bits) ones |= std::uint64_t{1} << at;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  const std::uint64_t add = rule.limit < sign ? sign - 1 - rule.limit : 0;
  return {ones * (sign - 1), ones * add, ones * sign, ones * rule.canonical, bits - 1};
}

/// The digest of a range that is given piece by piece.
class Digest {
 public:
  explicit Digest(DType type) : type_(type) {}

  /// The next elements. Every piece but the last is a whole number of words.
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const { return sum_ + digest_term(static_cast<std::uint64_t>(numel_), -1); }

 private:
  DType type_;
  std::uint64_t sum_ = 0;
  std::int64_t words_ = 0, numel_ = 0;
};

/// The digest of elements in host memory.
std::uint64_t digest_of(DType type, std::span<const std::byte> bytes);

/// What a backend may also be, when it can digest its memory where it lies. Found by dynamic_cast.
class Digesting {
 public:
  virtual ~Digesting() = default;

  /// The digest of views[i] on ranks[i], for all i, after all ops executed so far have finished. All at once,
  /// because the same view on eight virtual ranks is one launch.
  virtual std::vector<std::uint64_t> digests(const Plan& plan, std::span<const Rank> ranks,
                                             std::span<const View> views) = 0;
};

}  // namespace shardcheck
