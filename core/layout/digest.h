// Digest: one number that says which rank holds what of a buffer, equal on every machine (L11). The same
// number as in the recorded layouts: FNV-1a over little-endian signed 64-bit integers.
#pragma once

#include <cstdint>
#include <string>

#include "core/layout/layout.h"

namespace shardcheck::layout {

/// FNV-1a, 64 bit.
class Fnv1a {
 public:
  /// Mixes the eight bytes of `value`, least significant first.
  void add(std::int64_t value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte, bits >>= 8) state_ = (state_ ^ (bits & 0xff)) * 0x100000001b3ULL;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

/// Over all ranks (over rank 0 under Cut::replicated): rank, pad, number of segments, then bucket, param,
/// p_lo, p_hi and off of each, ascending by (bucket, off). Walks every rank.
std::uint64_t digest_of(const Buffer& buffer);

/// 16 lower-case hexadecimal digits.
std::string hexadecimal(std::uint64_t digest);

}  // namespace shardcheck::layout
