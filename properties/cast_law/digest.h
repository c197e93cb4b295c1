// One number for the codes of all 2^32 fp32 inputs: what two machines, or a machine and the definition, are
// compared by. The definition's number is found without walking through the inputs.
#pragma once

#include <cstdint>

#include "properties/cast_law/nearest_code.h"

namespace shardcheck {

/// Sum over all inputs x (bits) of w(x) * (code + 1) mod 2^64 with w(x) = x * 0x9E3779B1 + 0x7F4A7C15 mod
/// 2^32, so that two codes that changed places change it. Inputs without a code (UE4M3: those below zero) add
/// nothing.
std::uint64_t cast_digest(const NearestCode& codes);

/// Inputs (as bits) from `begin` up to `end`, which is at most 2^32.
struct InputRange {
  std::uint64_t begin, end;
};
/// The part of the sum that these inputs add.
std::uint64_t cast_digest(const NearestCode& codes, InputRange range);

/// The sum of w over [0, end) mod 2^64; end <= 2^32.
std::uint64_t sum_of_weights(std::uint64_t end);

}  // namespace shardcheck
