// What went into one element that differs: the operands of the op around it, for people. Next: operands.h.
#pragma once

#include <vector>

#include "backends/shadow/operands.h"
#include "core/shadow.h"

namespace shardcheck::shadowing {

/// An element of what the op wrote on the rank at `position` in its list.
struct WrittenElement {
  std::size_t position;
  std::int64_t element;
  int operand = -1;  ///< which one the op wrote; says nothing where it writes a single one
};

/// The numbers that the op computed it from; operands that were too large to keep are left out.
std::vector<OperandExcerpt> excerpts_of(Operands& operands, WrittenElement written);

}  // namespace shardcheck::shadowing
