// The law of casts (F3, F6 to F8): every fp32 number becomes the nearest code of E4M3 and of E5M2, by every
// named policy. Two ways to ask: a backend executes Cast ops on chosen inputs, or a machine sweeps all 2^32
// by itself and says what it saw. Judged by nearest_code.h. Read next: digest.h.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

/// Inputs of the law: every threshold of the format with two neighbours on each side, and every `stride`-th
/// of all 2^32 bit patterns. A stride of 1 is all of them and takes minutes on a CPU.
struct CastInputs {
  std::uint32_t stride = 1;
};

/// A finding for every format and policy with an input that `candidate` casts otherwise: the first one, and
/// how many.
std::vector<Finding> all_fp32_casts(Backend& candidate, CastInputs inputs);

/// What a machine reports of its own sweep over all 2^32 inputs (backends/cuda/cast_sweep.h is one).
struct SweptCasts {
  std::uint64_t differences = 0;  ///< from the machine's own copy of the integer rule
  std::uint32_t input = 0;        ///< the first that differs, with both codes
  std::uint8_t expected = 0, actual = 0;
  std::uint64_t digest = 0;  ///< of the codes, as cast_digest()
};
using CastSweeper = std::function<SweptCasts(DType destination, std::int8_t policy)>;

/// A finding for every format and policy where the machine saw a difference, or where the digest of what it
/// computed is not that of the definition. The second needs no trust in the machine's own rule.
std::vector<Finding> all_fp32_casts(const CastSweeper& sweep);

}  // namespace shardcheck
