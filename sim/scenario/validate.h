// validate: whether a scenario means something that can be planned. The first rule that it breaks is a
// sentence with the JSON path of the field, whether or not the scenario ever was a file.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "sim/scenario/provenance_coding.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// What a field may hold. The bounds keep a hostile file from asking for more than a plan can be.
namespace limits {
struct Range {
  std::int64_t low = 0, high = 0;
};
inline constexpr Range kRanks{1, 1024};
inline constexpr Range kSteps{1, 64};
inline constexpr Range kMicrobatches{1, 64};
inline constexpr Range kTokens{0, 65536};
inline constexpr Range kSlots{1, 64};
inline constexpr Range kHistory{1, 1024};
inline constexpr Range kUnit{0, 65535};
inline constexpr Range kGroups{1, 1024};
inline constexpr Range kClip{0, 4};
inline constexpr Range kSize{0, std::numeric_limits<std::int64_t>::max()};
/// Elements of all parameters. 2^34 admits a model of 8 billion parameters (a Llama-3-8B has 2^32.9) and
/// keeps the bytes of its buffers on 1024 ranks below 2^63.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 34;
inline constexpr Range kBucketSize{0, kMaxElements};
/// Bytes of a name; it stands in sentences.
inline constexpr std::int64_t kMaxNameBytes = 256;
}  // namespace limits

/// True for owners that sum the copies of a parameter, on two pipeline stages or on tensor-parallel ranks,
/// after their own reduction, each rank what it owns. Copies must be cut alike (W28), so owners that cut
/// several parameters as one give those of two stages a bucket of their own.
bool sums_copies(Strategy strategy);

/// Returns when the scenario is valid, else throws bad_input: `where`, the JSON path, the value, and what
/// would be right. Whether `fault` names an entry of the zoo is for the zoo to say.
void validate(const Scenario& scenario, const std::string& where);

}  // namespace shardcheck
