#include "core/layout/megatron_ddp_groups.h"

#include <algorithm>

namespace shardcheck::layout {

std::vector<DdpGroup> group_for_ddp(std::span<const Parameter> parameters,
                                    const MegatronDdpOptions& options) {
  std::vector<DdpGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (!parameter.requires_grad || parameter.tied_to) continue;
    BufferKey key;
    key.storage = parameter.quantized == Quantized::none ? parameter.dtype : DType::u8;
    key.gradient = options.grad_reduce_in_f32 ? DType::f32 : parameter.dtype;
    key.expert = parameter.expert;
    key.layerwise = parameter.layerwise;
    auto group = std::ranges::find(groups, key, &DdpGroup::key);
    if (group == groups.end()) {
      const std::int32_t world = key.expert ? options.expert_world.value_or(options.world) : options.world;
      group = groups.insert(groups.end(), DdpGroup{key, world, {}});
    }
    group->params.push_back(ParamId{static_cast<std::int32_t>(i)});
  }
  return groups;
}

std::int64_t ddp_bucket_granularity(std::int32_t world, const MegatronDdpOptions& options) {
  // 2^16 is a multiple of 128, so one lcm covers both rules.
  return lcm_sizes(world, options.pad_for_high_bus_bandwidth ? 65536 : 128);
}

}  // namespace shardcheck::layout
