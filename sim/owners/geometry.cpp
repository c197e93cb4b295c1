#include "sim/owners/geometry.h"

#include <algorithm>
#include <span>

#include "core/integers.h"
#include "core/layout/fsdp2_per_param.h"
#include "core/layout/megatron_ddp.h"
#include "core/layout/megatron_ddp_nopad.h"
#include "core/layout/megatron_fsdp_v1.h"
#include "core/layout/mfsdp_v2_flat.h"
#include "core/layout/zero12_flat.h"
#include "core/layout/zero3_flat.h"

namespace shardcheck {
namespace {

std::vector<layout::Parameter> parameters_for_layout(const Scenario& scenario) {
  std::vector<layout::Parameter> parameters;
  parameters.reserve(scenario.parameters.size());
  for (std::int32_t i = 0; i < std::ssize(scenario.parameters); ++i) {
    const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(i)];
    layout::Parameter parameter{.name = p.name, .shape = p.shape, .dtype = p.dtype};
    if (is_distributed(scenario, i)) parameter.shape[0] = div_exact(p.rows(), scenario.gtp);
    parameter.requires_grad = p.trainable;
    parameter.expert = has_coordinates(scenario, i);
    parameter.unit = p.unit;
    parameter.shared_embedding = p.tied_to >= 0;  // both copies are then cut alike (part_of_stage)
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// Ranks that cut a buffer. HFSDP cuts over all ranks of the domain, the others inside an outer group.
std::int32_t cutting_ranks(const Scenario& s, bool expert) {
  return s.outer_mode == OuterMode::shard ? domain_size(s, expert) : inner_size(s, expert);
}

layout::Layout layout_of_part(const Scenario& s, std::span<const layout::Parameter> parameters, bool expert) {
  const std::int32_t world = cutting_ranks(s, expert);
  switch (s.strategy) {
    case Strategy::fsdp_v2: return layout::mfsdp_v2_flat(parameters, {.world = world});
    case Strategy::fsdp2: return layout::fsdp2_per_param(parameters, {.world = world});
    case Strategy::deepspeed_3: {
      layout::Zero3Options options{.world = world};
      if (s.bucket_size > 0) options.sub_group_size = s.bucket_size;
      return layout::zero3_flat(parameters, options);
    }
    default: return layout::zero12_flat(parameters, {.world = world});
  }
}

/// Layouts that know one world only: the dense parameters' buffers, then the experts'. They hold gradients,
/// so that frozen parameters are left out.
layout::Layout layout_by_kind(const Scenario& s) {
  layout::Layout all;
  const auto parameters = parameters_for_layout(s);
  for (const bool expert : {false, true}) {
    std::vector<layout::Parameter> part;
    std::vector<ParamId> ids;
    for (std::int32_t p = 0; p < std::ssize(parameters); ++p) {
      const layout::Parameter& parameter = parameters[static_cast<std::size_t>(p)];
      if (!parameter.requires_grad || parameter.expert != expert) continue;
      part.push_back(parameter);
      ids.push_back(ParamId{p});
    }
    if (part.empty()) continue;
    for (layout::Buffer& buffer : layout_of_part(s, part, expert).buffers) {
      for (layout::Slot& slot : buffer.slots) slot.param = ids[static_cast<std::size_t>(slot.param.value)];
      buffer.key.expert = expert;
      all.buffers.push_back(std::move(buffer));
    }
  }
  return all;
}

layout::Layout layout_of(const Scenario& scenario) {
  if (is_unfused_only(scenario.strategy)) return layout_by_kind(scenario);
  const auto parameters = parameters_for_layout(scenario);
  const std::int32_t world = cutting_ranks(scenario, false), expert_world = cutting_ranks(scenario, true);
  if (is_megatron_fsdp_v1(scenario.strategy)) {
    const auto strategy = static_cast<int>(scenario.strategy) - static_cast<int>(Strategy::fsdp_no_shard);
    layout::MegatronFsdpV1Options options{.world = world, .expert_world = expert_world};
    options.strategy = static_cast<layout::FsdpStrategy>(strategy);
    return layout::megatron_fsdp_v1(parameters, options);
  }
  layout::MegatronDdpOptions options{.world = world, .expert_world = expert_world};
  if (scenario.bucket_size > 0) options.bucket_size = scenario.bucket_size;
  options.grad_reduce_in_f32 = scenario.main_grad == DType::f32;
  return scenario.strategy == Strategy::megatron_ddp ? layout::megatron_ddp_nopad(parameters, options)
                                                     : layout::megatron_ddp(parameters, options);
}

/// Pieces of the bucket's parameters, in the order of their place.
std::vector<Member> members_of(const layout::Buffer& buffer, std::int32_t b) {
  const layout::Bucket& source = buffer.buckets[static_cast<std::size_t>(b)];
  std::vector<Member> members;
  if (buffer.cut != layout::Cut::per_parameter) {
    for (std::int32_t s = source.first_slot; s < source.first_slot + source.slot_count; ++s) {
      const layout::Slot& slot = buffer.slots[static_cast<std::size_t>(s)];
      members.push_back({slot.param.value, slot.lo - source.lo, slot.hi - source.lo});
    }
    return members;
  }
  for (std::int32_t r = 0; r < buffer.world; ++r) {
    const layout::RankLayout held = buffer.rank_layout(Rank{r}, b);
    for (const layout::Segment& segment : held.segs) {
      const std::int64_t lo = r * held.buf_numel + segment.off;
      members.push_back({segment.param.value, lo, lo + segment.p_hi - segment.p_lo, segment.p_lo});
    }
  }
  return members;
}

/// The buffers of one stage, after those that `geometry` has. `ids`: its parameters among all.
void append_stage(const Scenario& scenario, std::int32_t stage, std::span<const std::int32_t> ids,
                  Geometry& geometry) {
  for (const layout::Buffer& buffer : layout_of(scenario).buffers) {
    if (!buffer.key.requires_grad) continue;  // frozen: no gradient buffer
    const auto flat = static_cast<std::int32_t>(geometry.flat_sizes.size());
    geometry.flat_sizes.push_back(buffer.size);
    geometry.flat_stages.push_back(stage);
    for (std::int32_t b = 0; b < std::ssize(buffer.buckets); ++b) {
      const layout::Bucket& source = buffer.buckets[static_cast<std::size_t>(b)];
      OwnerBucket bucket{.flat = flat, .lo = source.lo, .hi = source.hi, .expert = buffer.key.expert};
      bucket.stage = stage;
      bucket.group = inner_size(scenario, bucket.expert);
      bucket.shards = bucket.expert ? scenario.gtp : 1;
      bucket.members = members_of(buffer, b);
      for (Member& member : bucket.members)
        member.parameter = ids[static_cast<std::size_t>(member.parameter)];
      for (std::int32_t s = source.first_slot; s < source.first_slot + source.slot_count; ++s) {
        const std::int32_t slot = buffer.slots[static_cast<std::size_t>(s)].param.value;
        const std::int32_t parameter = ids[static_cast<std::size_t>(slot)];
        bucket.parameters.push_back(parameter);
        geometry.bucket_of[static_cast<std::size_t>(parameter)] =
            static_cast<std::int32_t>(geometry.buckets.size());
      }
      for (const Member& member : bucket.members)
        geometry.pieces_of[static_cast<std::size_t>(member.parameter)].push_back(member);
      geometry.buckets.push_back(std::move(bucket));
    }
  }
}

/// The scenario with the parameters of one stage and their uses only. Both copies of a tied weight name the
/// other one.
Scenario part_of_stage(const Scenario& scenario, std::span<const std::int32_t> ids) {
  Scenario part = scenario;
  part.parameters.clear();
  part.uses.clear();
  for (ScenarioUse use : scenario.uses) {
    const auto found = std::ranges::find(ids, use.parameter);
    if (found == ids.end()) continue;
    use.parameter = static_cast<std::int32_t>(found - ids.begin());
    part.uses.push_back(use);
  }
  for (const std::int32_t id : ids) {
    part.parameters.push_back(scenario.parameters[static_cast<std::size_t>(id)]);
    part.parameters.back().tied_to = tied_copy(scenario, id);
  }
  return part;
}

}  // namespace

Geometry geometry_of(const Scenario& scenario) {
  Geometry geometry;
  geometry.bucket_of.assign(scenario.parameters.size(), -1);
  geometry.pieces_of.resize(scenario.parameters.size());
  for (std::int32_t stage = 0; stage < scenario.stages; ++stage) {
    std::vector<std::int32_t> ids;
    for (std::int32_t p = 0; p < std::ssize(scenario.parameters); ++p) {
      if (scenario.parameters[static_cast<std::size_t>(p)].stage == stage) ids.push_back(p);
    }
    if (scenario.stages == 1)
      append_stage(scenario, stage, ids, geometry);
    else if (!ids.empty())
      append_stage(part_of_stage(scenario, ids), stage, ids, geometry);
  }
  for (auto& pieces : geometry.pieces_of) std::ranges::stable_sort(pieces, {}, &Member::first);
  return geometry;
}

}  // namespace shardcheck
