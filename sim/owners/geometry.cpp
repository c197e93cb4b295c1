#include "sim/owners/geometry.h"

#include "core/layout/megatron_ddp.h"
#include "core/layout/megatron_ddp_nopad.h"
#include "core/layout/megatron_fsdp_v1.h"

namespace shardcheck {
namespace {

std::vector<layout::Parameter> parameters_for_layout(const Scenario& scenario) {
  std::vector<layout::Parameter> parameters;
  parameters.reserve(scenario.parameters.size());
  for (const ScenarioParameter& p : scenario.parameters) {
    layout::Parameter parameter{.name = p.name, .shape = p.shape, .dtype = p.dtype};
    parameter.requires_grad = p.trainable;
    parameter.expert = p.expert;
    parameter.unit = p.unit;
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

layout::Layout layout_of(const Scenario& scenario) {
  const auto parameters = parameters_for_layout(scenario);
  const std::int32_t expert_world = domain_size(scenario, true);
  if (is_fsdp(scenario.strategy)) {
    const auto strategy = static_cast<int>(scenario.strategy) - static_cast<int>(Strategy::fsdp_no_shard);
    layout::MegatronFsdpV1Options options{.world = scenario.ranks, .expert_world = expert_world};
    options.strategy = static_cast<layout::FsdpStrategy>(strategy);
    return layout::megatron_fsdp_v1(parameters, options);
  }
  layout::MegatronDdpOptions options{.world = scenario.ranks, .expert_world = expert_world};
  if (scenario.bucket_size > 0) options.bucket_size = scenario.bucket_size;
  options.grad_reduce_in_f32 = scenario.main_grad == DType::f32;
  return scenario.strategy == Strategy::megatron_ddp ? layout::megatron_ddp_nopad(parameters, options)
                                                     : layout::megatron_ddp(parameters, options);
}

}  // namespace

Geometry geometry_of(const Scenario& scenario) {
  Geometry geometry;
  geometry.bucket_of.assign(scenario.parameters.size(), -1);
  geometry.place_of.resize(scenario.parameters.size());
  for (const layout::Buffer& buffer : layout_of(scenario).buffers) {
    if (!buffer.key.requires_grad) continue;  // frozen: no gradient buffer
    const auto flat = static_cast<std::int32_t>(geometry.flat_sizes.size());
    geometry.flat_sizes.push_back(buffer.size);
    for (const layout::Bucket& source : buffer.buckets) {
      OwnerBucket bucket{
          .flat = flat, .lo = source.lo, .hi = source.hi, .group = buffer.world, .expert = buffer.key.expert};
      for (std::int32_t s = source.first_slot; s < source.first_slot + source.slot_count; ++s) {
        const layout::Slot& slot = buffer.slots[static_cast<std::size_t>(s)];
        const Member member{slot.param.value, slot.lo - source.lo, slot.hi - source.lo};
        geometry.bucket_of[static_cast<std::size_t>(slot.param.value)] =
            static_cast<std::int32_t>(geometry.buckets.size());
        geometry.place_of[static_cast<std::size_t>(slot.param.value)] = member;
        bucket.members.push_back(member);
      }
      geometry.buckets.push_back(std::move(bucket));
    }
  }
  return geometry;
}

}  // namespace shardcheck
