// Trainable parameters by optimizer param group, as DeepSpeed flattens them (shard-layouts 2.12, 2.13).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Parameters of one optimizer param group, in registration order.
struct OptimizerGroup {
  BufferKey key;
  std::vector<ParamId> params;
};

/// Groups in the order of their numbers, as the optimizer lists them; frozen parameters and aliases of tied
/// ones are in none.
inline std::vector<OptimizerGroup> group_for_optimizer(std::span<const Parameter> parameters) {
  std::vector<OptimizerGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].requires_grad || parameters[i].tied_to) continue;
    BufferKey key;
    key.group = parameters[i].group;
    auto group = std::ranges::find(groups, key, &OptimizerGroup::key);
    if (group == groups.end()) group = groups.insert(groups.end(), OptimizerGroup{key, {}});
    group->params.push_back(ParamId{static_cast<std::int32_t>(i)});
  }
  std::ranges::sort(groups, {}, [](const OptimizerGroup& group) { return group.key.group; });
  return groups;
}

}  // namespace shardcheck::layout
