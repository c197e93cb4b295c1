// Parameters by FSDP unit: the groups of the layouts that flatten or gather one unit at a time
// (shard-layouts 2.6 to 2.10). Aliases of tied parameters occupy no space and are dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Parameters that share a buffer, in registration order.
struct UnitGroup {
  BufferKey key;
  std::vector<ParamId> params;
};

/// What splits a unit into several groups.
enum class SplitBy : std::uint8_t { unit, unit_dtype_and_requires_grad };

/// Groups in order of first appearance.
inline std::vector<UnitGroup> group_by_unit(std::span<const Parameter> parameters, SplitBy split) {
  std::vector<UnitGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.tied_to) continue;
    BufferKey key;
    key.unit = parameter.unit;
    if (split == SplitBy::unit_dtype_and_requires_grad) {
      key.storage = key.gradient = parameter.dtype;
      key.requires_grad = parameter.requires_grad;
    }
    auto group = std::ranges::find(groups, key, &UnitGroup::key);
    if (group == groups.end()) group = groups.insert(groups.end(), UnitGroup{key, {}});
    group->params.push_back(ParamId{static_cast<std::int32_t>(i)});
  }
  return groups;
}

}  // namespace shardcheck::layout
