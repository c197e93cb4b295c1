// Faults of the zoo that corrupt a checkpoint index or a reshard plan. Next: zoo.h.
#pragma once

#include <span>

#include "properties/layout_laws/zoo.h"

namespace shardcheck::laws {

std::span<const LayoutFault> file_and_move_faults();

}  // namespace shardcheck::laws
