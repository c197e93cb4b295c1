// When two codes of one type count as the same, and how far apart they are otherwise. Every NaN is the same
// NaN: no document promises its payload or sign, and machines differ. -0 and +0 are two codes. Read next:
// core/digest.h, which sees whole ranges by the same rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/numerics/format.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// A code is NaN when its magnitude is above `limit`. True of every type of a buffer; bytes have no NaN.
struct NanRule {
  std::uint32_t magnitude_mask;
  std::uint32_t limit;
  std::uint32_t canonical;  ///< the one NaN that stands for all
};
constexpr NanRule nan_rule_of(DType type) {
  const auto id = format_id_of(type);
  if (!id) return {0xff, 0xff, 0};
  const Format& format = format_of(*id);
  return {format.magnitude_mask(), format.has_infinity() ? format.infinity_code : format.max_code,
          format.quiet_nan_code};
}

/// `code`, or the canonical NaN when it is one.
constexpr std::uint32_t canonical_code(DType type, std::uint32_t code) {
  const NanRule rule = nan_rule_of(type);
  return (code & rule.magnitude_mask) > rule.limit ? rule.canonical : code;
}

/// The code at `index` of little-endian bytes.
inline std::uint32_t code_at(DType type, std::span<const std::byte> bytes, std::int64_t index) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + static_cast<std::size_t>(index) * size, size);
  return code;
}

/// The number that a code means. Plain bytes mean themselves.
double value_of_code(DType type, std::uint32_t code);

/// What should be there, and what is.
struct CodePair {
  std::uint32_t expected, actual;
};

constexpr bool is_same(DType type, CodePair codes) {
  return canonical_code(type, codes.expected) == canonical_code(type, codes.actual);
}

/// Steps from one number to the other along the numbers of the type; -0 and +0 are 0 steps apart, infinity is
/// one past the largest number. Nothing where one is NaN, and for plain bytes.
std::optional<std::int64_t> ulps_between(DType type, CodePair codes);

/// Two ranges of equally many codes.
struct BytesPair {
  std::span<const std::byte> expected, actual;
};
struct Differing {
  std::int64_t first = -1;  ///< element, or -1
  std::int64_t count = 0;
};
/// Elements that are not the same.
Differing differing(DType type, BytesPair bytes);

}  // namespace shardcheck
