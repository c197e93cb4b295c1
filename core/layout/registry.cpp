#include "core/layout/registry.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/layout/fsdp2_per_param.h"
#include "core/layout/megatron_ddp.h"
#include "core/layout/megatron_ddp_nopad.h"
#include "core/layout/megatron_layerwise.h"
#include "core/layout/mesh_cut.h"
#include "core/layout/mfsdp_v2_block_atomic.h"
#include "core/layout/mfsdp_v2_flat.h"
#include "core/layout/whole_models.h"
#include "core/layout/zero3_flat.h"

namespace shardcheck::layout {
namespace {

using Parameters = std::span<const Parameter>;

std::int32_t world_of(const Mesh& mesh) {
  return mesh.ranks_along(AxisUse::shard);
}

MegatronDdpOptions ddp_options(const Mesh& mesh, const Configuration& c) {
  return {.world = world_of(mesh),
          .expert_world = c.expert_world,
          .bucket_size = c.bucket_size,
          .grad_reduce_in_f32 = c.grad_reduce_in_f32,
          .pad_for_high_bus_bandwidth = c.pad_for_high_bus_bandwidth};
}

constexpr NamedLayout kLayouts[] = {
    {"megatron-ddp-nopad",
     "Megatron-Core DDP: every rank holds all, buckets only say what is reduced together",
     "2.2",
     {.trainable_only = true, .rows_whole = true, .tensors_whole = false},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return megatron_ddp_nopad(p, ddp_options(m, c));
     }},
    {"megatron-ddp",
     "Megatron-Core DDP with distributed optimizer (ZeRO-1): buckets cut anywhere",
     "2.3",
     {.trainable_only = true, .in_order = true},
     [](Parameters p, const Mesh& m, const Configuration& c) { return megatron_ddp(p, ddp_options(m, c)); }},
    {"megatron-layerwise",
     "DDP buffers in which no tensor is cut, for matrix optimizers",
     "2.4",
     {.trainable_only = true, .tensors_whole = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return megatron_layerwise(p, ddp_options(m, c));
     }},
    {"megatron-fsdp-v1",
     "Megatron-FSDP, first generation: gap-packed buffers, cut at multiples of a chunk",
     "2.5",
     {.rows_whole = true, .has_units = true, .several_shard_axes = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return megatron_fsdp_v1(p, {.world = world_of(m),
                                   .expert_world = c.expert_world,
                                   .strategy = c.strategy,
                                   .suggested_bucket_size = c.suggested_bucket_size});
     }},
    {"mfsdp-v2-flat",
     "Megatron-FSDP v2: gap-packed buffers in which no row is cut",
     "2.6",
     {.rows_whole = true, .has_units = true, .several_shard_axes = true},
     [](Parameters p, const Mesh& m, const Configuration&) {
       return mfsdp_v2_flat(p, {.world = world_of(m), .block_rows = 1});
     }},
    {"mfsdp-v2-block-atomic",
     "Megatron-FSDP v2 for MXFP8: no block of rows is cut",
     "2.7",
     {.rows_whole = true, .blocks_whole = true, .has_units = true, .several_shard_axes = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return mfsdp_v2_block_atomic(p, {.world = world_of(m), .block_rows = c.block_rows});
     }},
    {"mfsdp-v2-tensor-atomic",
     "Megatron-FSDP v2: every tensor has one owner, shards of unequal length",
     "2.8",
     {.rows_whole = true,
      .tensors_whole = true,
      .equal_shards = false,
      .has_units = true,
      .several_shard_axes = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return tensor_atomic_model(p, c.owners, world_of(m));
     }},
    {"fsdp1-flat",
     "PyTorch FSDP1: one flat parameter a unit, cut anywhere",
     "2.9",
     {.has_units = true, .in_order = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return fsdp1_flat(p, {.world = world_of(m), .mode = c.fsdp1_mode, .compute_dtype = c.compute_dtype});
     }},
    {"fsdp2-per-param",
     "PyTorch FSDP2: every parameter is cut by itself along one dimension",
     "2.10",
     {.rows_whole = true, .has_units = true, .in_order = true},
     [](Parameters p, const Mesh& m, const Configuration&) {
       return fsdp2_per_param(p, {.world = world_of(m)});
     }},
    {"dtensor-nd",
     "DTensor placements on an N-D mesh, strided shards included",
     "2.11",
     {.rows_whole = false, .equal_shards = true, .several_shard_axes = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return dtensor_model(p, m, c.placements, c.order);
     }},
    {"zero12-flat",
     "DeepSpeed ZeRO-1/2: one flat buffer an optimizer group, cut anywhere",
     "2.12",
     {.trainable_only = true, .in_order = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return zero12_flat(p, {.world = world_of(m), .order = c.zero_order});
     }},
    {"zero3-flat",
     "DeepSpeed ZeRO-3: every parameter is cut by itself into W parts of its flat elements",
     "2.13",
     {.trainable_only = true, .in_order = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return zero3_flat(p, {.world = world_of(m), .sub_group_size = c.sub_group_size});
     }},
    {"vescale-ragged",
     "veScale RaggedShard: planner R1 for whole units, or given units for every tensor",
     "2.14",
     {.blocks_whole = true, .equal_shards = true, .has_units = true},
     [](Parameters p, const Mesh& m, const Configuration& c) {
       return ragged_model(p, c.units, {.world = world_of(m), .granularity = c.granularity});
     }},
};

/// A layout that speaks of one shard axis must not guess how two are meant (B25).
void check(const NamedLayout& layout, const Mesh& mesh) {
  mesh.ranks();
  const auto sharding = std::ranges::count(mesh.axes, AxisUse::shard, &Axis::use);
  if (sharding > 1 && !layout.promises.several_shard_axes) {
    throw bad_input("mesh", std::string(layout.name) + " shards along one axis and " +
                                std::to_string(sharding) +
                                " are given; flatten them into one, or say which of them replicates");
  }
}

}  // namespace

std::span<const NamedLayout> named_layouts() {
  return kLayouts;
}

const NamedLayout* find_layout(std::string_view name) {
  const auto* found = std::ranges::find(kLayouts, name, &NamedLayout::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

Layout layout_named(std::string_view name, std::span<const Parameter> parameters, const Mesh& mesh,
                    const Configuration& configuration) {
  const NamedLayout* layout = find_layout(name);
  if (layout == nullptr) {
    std::string names;
    for (const NamedLayout& known : kLayouts) names.append(names.empty() ? "" : ", ").append(known.name);
    throw bad_input("layout", "there is none called " + std::string(name) + "; the layouts are " + names);
  }
  check(*layout, mesh);
  return layout->make(parameters, mesh, configuration);
}

}  // namespace shardcheck::layout
