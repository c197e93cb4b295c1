// From a byte to its meaning: which element of which parameter lies at a place of a buffer when an op writes
// it. The other way round is properties/diagnosis/places.h.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace shardcheck {

/// An element of a buffer on one rank, as operand of an op.
struct BufferElement {
  OpIndex op;
  Rank rank;
  BufferId buffer;
  std::int64_t offset = 0;
};

struct ParameterElement {
  ParamId parameter{-1};  ///< the op's own where the place names none, or -1
  std::int64_t element =
      -1;  ///< flattened row-major; -1 where no gradient lies there: padding, a cast weight
};

ParameterElement parameter_element(const Plan& plan, const BufferElement& place);

}  // namespace shardcheck
