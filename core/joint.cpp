#include "core/joint.h"

namespace shardcheck {

std::vector<Finding> agreed(Backend& backend, std::vector<Finding> mine) {
  auto* joint = dynamic_cast<Joint*>(&backend);
  return joint == nullptr ? std::move(mine) : joint->agree(mine);
}

Backend& whole_of(Backend& backend) {
  auto* joint = dynamic_cast<Joint*>(&backend);
  return joint == nullptr ? backend : joint->whole();
}

}  // namespace shardcheck
