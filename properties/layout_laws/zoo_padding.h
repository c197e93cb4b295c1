// Faults of the zoo about padding, boundaries, empty and tiny tensors: B1 to B18, B29 to B32, where they
// corrupt what a layout claims. Next: zoo.h, the table that users walk.
#pragma once

#include <span>

#include "properties/layout_laws/zoo.h"

namespace shardcheck::laws {

std::span<const LayoutFault> padding_and_boundary_faults();

}  // namespace shardcheck::laws
