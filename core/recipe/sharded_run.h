// Executes a plan of sharded quantisation on simulated ranks, and says what happened: what every rank
// measured and wrote, and the copies that it ended with. Nothing is judged here, and a wrong plan runs like a
// right one, until no collective has all of its ranks. Read next: properties/quantisation_law/laws.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/recipe/sharded.h"

namespace shardcheck::recipe {

/// Codes that nobody has written have this value on every rank; the sign bit of FP4 codes is lost in it.
inline constexpr std::uint8_t kCanary = 0xA5;

/// What one rank did to one weight.
struct WeightOutcome {
  std::vector<float> own_amaxes;                      ///< before the reduction, as amax_count counts
  std::vector<float> amaxes;                          ///< after it
  std::vector<Scales> scales;                         ///< [direction]
  std::vector<std::vector<std::uint8_t>> cast_codes;  ///< [direction], before the gather: canaries elsewhere
  std::vector<QuantizedCopy> copies;                  ///< row, then column
};

struct ShardedOutcome {
  std::vector<std::vector<WeightOutcome>> ranks;  ///< [rank][weight]
  /// Where no collective could go on: what each rank waits for, by position in its schedule; else nothing.
  std::optional<std::vector<std::size_t>> stuck_at;
};

/// Ranges of a plan lie inside their weights.
ShardedOutcome run_sharded(const ShardedCall& call, const ShardedPlan& plan);

}  // namespace shardcheck::recipe
