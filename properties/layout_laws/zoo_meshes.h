// Faults of the zoo about meshes, tied tensors, planes and wide sizes: B19 to B26, B33 to B45, and ours, for
// laws that no entry of the catalogue kills. Next: zoo.h, the table that users walk.
#pragma once

#include <span>

#include "properties/layout_laws/zoo.h"

namespace shardcheck::laws {

std::span<const LayoutFault> mesh_and_plane_faults();
std::span<const LayoutFault> own_faults();

}  // namespace shardcheck::laws
