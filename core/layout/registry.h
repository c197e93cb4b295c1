// The registry of layouts: one uniform entry for all of them, name -> function. Laws, the command and the
// tests walk it, so a new layout is one file and one line here. Next: ownership.h asks a layout who holds
// what.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/fsdp1_flat.h"
#include "core/layout/layout.h"
#include "core/layout/megatron_fsdp_v1.h"
#include "core/layout/mesh.h"
#include "core/layout/parameter.h"
#include "core/layout/zero12_flat.h"

namespace shardcheck::layout {

/// Everything that some layout can be told besides parameters and mesh. A layout reads its own fields only.
struct Configuration {
  std::optional<std::int32_t> expert_world;  ///< W of expert buffers: megatron-ddp*, -layerwise, -fsdp-v1
  std::optional<std::int64_t> bucket_size;   ///< elements, megatron-ddp* and -layerwise; none = one bucket
  bool grad_reduce_in_f32 = false;           ///< megatron-ddp* and -layerwise
  bool pad_for_high_bus_bandwidth = false;   ///< megatron-ddp and -layerwise
  FsdpStrategy strategy = FsdpStrategy::optim_grads_params;  ///< megatron-fsdp-v1
  std::int64_t suggested_bucket_size = 40'000'000;           ///< elements, megatron-fsdp-v1
  std::int64_t block_rows = 32;                              ///< b of mfsdp-v2-block-atomic
  std::vector<Rank>
      owners;  ///< of mfsdp-v2-tensor-atomic, one a parameter; empty = planned from the flat layout
  Fsdp1Mode fsdp1_mode = Fsdp1Mode::aligned;   ///< fsdp1-flat
  std::optional<DType> compute_dtype;          ///< fsdp1-flat
  ZeroOrder zero_order = ZeroOrder::given;     ///< zero12-flat
  std::optional<std::int64_t> sub_group_size;  ///< elements, zero3-flat
  std::int64_t granularity = 1;                ///< g of planner R1, in elements: vescale-ragged
  std::vector<std::int64_t> units;    ///< of vescale-ragged, one a rank, for every tensor; empty = planner R1
  std::vector<Placement> placements;  ///< of dtensor-nd, one an axis; empty = Shard(0) on cutting axes
  std::vector<std::int32_t> order;    ///< of dtensor-nd; empty = tensor axes cut first, then shard axes
};

/// What a layout promises of its cuts; the laws hold it to that (shard-layouts 2.15).
struct Promises {
  bool trainable_only = false;      ///< frozen parameters are in no buffer (L22)
  bool rows_whole = false;          ///< L7
  bool blocks_whole = false;        ///< L8
  bool tensors_whole = false;       ///< L9
  bool equal_shards = true;         ///< every rank sends the same number of elements (L25)
  bool has_units = false;           ///< groups parameters by FSDP unit
  bool in_order = false;            ///< equal tensors may be exchanged (L24 d)
  bool several_shard_axes = false;  ///< accepts meshes that shard along more than one axis
};

struct NamedLayout {
  std::string_view name;         ///< "megatron-ddp"
  std::string_view description;  ///< one sentence
  std::string_view section;      ///< of shard-layouts.md
  Promises promises;
  Layout (*make)(std::span<const Parameter> parameters, const Mesh& mesh, const Configuration& configuration);
};

/// All layouts, in the order of the specification.
std::span<const NamedLayout> named_layouts();

/// Null when there is none of that name.
const NamedLayout* find_layout(std::string_view name);

/// The layout of that name. Throws Error when there is none or the mesh does not suit it, and whatever the
/// layout throws.
Layout layout_named(std::string_view name, std::span<const Parameter> parameters, const Mesh& mesh,
                    const Configuration& configuration);

}  // namespace shardcheck::layout
