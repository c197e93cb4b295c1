// Where two casts into one format differ, over all 2^32 fp32 inputs: as ranges, read off the definition, so
// that nothing is walked. Read next: nearest_code.h.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/cast_law/nearest_code.h"

namespace shardcheck {

/// Consecutive inputs of one sign (as bits, both ends included) that each of the two casts gives one code.
struct DifferingRange {
  std::uint32_t first, last;
  std::uint16_t by_first, by_second;  ///< codes

  std::uint64_t inputs() const { return std::uint64_t{last} - first + 1; }
};

/// All of them, positive magnitudes before negative ones, each ascending; neighbours with the same codes are
/// one range.
std::vector<DifferingRange> ranges_that_differ(const NearestCode& first, const NearestCode& second);

}  // namespace shardcheck
