// Lost bits: a wrong number in which every contribution is there once, so that only a rounding can be wrong.
// The algebra of the element (algebra.h) knows its exact sum and the number that the types of the plan leave
// after each op: the first op where the two part is the rounding, and tells a sum that was accumulated in a
// low precision from one that was reduced in it (K06).
#pragma once

#include <optional>
#include <string>

#include "properties/diagnosis/algebra.h"

namespace shardcheck {

/// An element as its reader gets it at the end of a step.
struct ReadElement {
  Element element;
  std::int32_t step = 0;
  Rank reader{-1};
};

struct LostBits {
  OpIndex op;                  ///< the first one that rounds the exact sum away
  std::string sentence;        ///< "op 12 on rank 0 (...) leaves 512 of 513 in bf16"
  double wanted = 0, got = 0;  ///< what the reader should get, and gets by the plan's types
};

/// Nothing where all contributions reach the reader unrounded, or something else than rounding is wrong.
/// Exact data only (wgrad 8.9), where no declared rounding loses anything.
std::optional<LostBits> lost_bits(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                                  const ReadElement& read);

}  // namespace shardcheck
