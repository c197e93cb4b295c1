#include "core/numerics/same_code.h"

#include <cstdlib>

#include "core/assert.h"
#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

template <class Code>
Differing differing_codes(DType type, BytesPair bytes) {
  const NanRule rule = nan_rule_of(type);
  const auto count = static_cast<std::int64_t>(bytes.expected.size() / sizeof(Code));
  Differing found;
  for (std::int64_t i = 0; i < count; ++i) {
    Code a = 0, b = 0;
    std::memcpy(&a, bytes.expected.data() + static_cast<std::size_t>(i) * sizeof(Code), sizeof(Code));
    std::memcpy(&b, bytes.actual.data() + static_cast<std::size_t>(i) * sizeof(Code), sizeof(Code));
    if (a == b) continue;
    const bool both_nan = (a & rule.magnitude_mask) > rule.limit && (b & rule.magnitude_mask) > rule.limit;
    if (both_nan) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

}  // namespace

double value_of_code(DType type, std::uint32_t code) {
  const auto id = format_id_of(type);
  return id ? static_cast<double>(decode(format_of(*id), code)) : static_cast<double>(code);
}

std::optional<std::int64_t> ulps_between(DType type, CodePair codes) {
  const auto id = format_id_of(type);
  if (!id) return std::nullopt;
  const Format& format = format_of(*id);
  if (format.is_nan(codes.expected) || format.is_nan(codes.actual)) return std::nullopt;
  // Codes are sign and magnitude, and magnitudes ascend with the numbers.
  const auto place = [&](std::uint32_t code) {
    const auto magnitude = static_cast<std::int64_t>(code & format.magnitude_mask());
    return (code & format.sign_mask()) != 0 ? -magnitude : magnitude;
  };
  return std::abs(place(codes.expected) - place(codes.actual));
}

Differing differing(DType type, BytesPair bytes) {
  SC_ASSERT(bytes.expected.size() == bytes.actual.size(), "ranges of different sizes are compared");
  if (bytes.expected.empty() ||
      std::memcmp(bytes.expected.data(), bytes.actual.data(), bytes.expected.size()) == 0) {
    return {};
  }
  switch (bytes_of(type)) {
    case 4: return differing_codes<std::uint32_t>(type, bytes);
    case 2: return differing_codes<std::uint16_t>(type, bytes);
    default: return differing_codes<std::uint8_t>(type, bytes);
  }
}

}  // namespace shardcheck
