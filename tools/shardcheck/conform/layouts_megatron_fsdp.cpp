// Recorded outputs of both Megatron-FSDP generations (shard-layouts 2.5 to 2.8), recomputed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/layout/dtensor_nd.h"
#include "core/layout/megatron_fsdp_v1.h"
#include "core/layout/mfsdp_v2_block_atomic.h"
#include "core/layout/mfsdp_v2_flat.h"
#include "core/layout/mfsdp_v2_tensor_atomic.h"
#include "tools/shardcheck/conform/layouts_as_json.h"
#include "tools/shardcheck/conform/layouts_recompute.h"

namespace shardcheck::conform {

using layout::Buffer;
using layout::Layout;
using nlohmann::json;

namespace {

json unit_as_json(const std::optional<std::int32_t>& unit) {
  return unit ? json(*unit) : json();
}

layout::FsdpStrategy strategy_of(const Field& field) {
  const std::string name = field.text();
  if (name == "no_shard") return layout::FsdpStrategy::no_shard;
  if (name == "optim") return layout::FsdpStrategy::optim;
  if (name == "optim_grads") return layout::FsdpStrategy::optim_grads;
  if (name == "optim_grads_params") return layout::FsdpStrategy::optim_grads_params;
  field.reject("no_shard, optim, optim_grads or optim_grads_params");
}

json rank_to_shard_index(const RecordedLayout& recorded) {
  json rows = json::array();
  for (const Rank rank : recorded_ranks(recorded.world)) {
    const auto at = layout::mesh_coordinate(recorded.mesh, rank);
    const Rank shard = layout::hfsdp_shard({.outer = at[0], .inner = at[1]}, recorded.mesh[0]);
    rows.push_back({at[0], at[1], shard.value});
  }
  return rows;
}

json v2_output(const Buffer& buffer) {
  json output{{"buffers", {sharded_buffer_as_json(buffer)}}};
  output["buffers"][0]["chunk"] = buffer.chunk;
  if (layout::upstream_sees_false_overlap(buffer)) output["upstream_rejects"] = "false-overlap";
  return output;
}

json mesh_ranges(const RecordedLayout& recorded, const Buffer& buffer) {
  json rows = json::array();
  for (const Rank rank : recorded_ranks(recorded.world)) {
    const auto at = layout::mesh_coordinate(recorded.mesh, rank);
    layout::MeshAxis axes[] = {{recorded.mesh[0], at[0], true}, {recorded.mesh[1], at[1], true}};
    const layout::Range both = layout::mesh_range(buffer.size, axes);
    axes[0].flat = false;
    const layout::Range inner = layout::mesh_range(buffer.size, axes);
    rows.push_back({at, both.lo, both.numel(), inner.lo, inner.numel()});
  }
  return rows;
}

/// Replaces the owners of matrices by planned ones and records how.
void plan_owners(const RecordedLayout& recorded, std::vector<Rank>& owners, json& output) {
  const Layout layout = layout::mfsdp_v2_flat(recorded.params, {.world = data_parallel(recorded)});
  const Buffer& flat = only_buffer(layout);
  output["flat_size"] = flat.size;
  for (const std::int32_t listed : flat.order) output["flat_offsets"].push_back(flat.slots[listed].lo);
  output["planned_owners"] = json::array();
  for (const auto& [param, owner] : layout::plan_owners(recorded.params, flat)) {
    output["planned_owners"].push_back({param.value, owner.value});
    if (static_cast<std::size_t>(param.value) < owners.size()) owners[param.value] = owner;
  }
}

}  // namespace

json megatron_fsdp_v1(const RecordedLayout& recorded) {
  std::vector<layout::Parameter> params = recorded.params;
  for (auto& parameter : params) parameter.expert = layout::is_expert_name(parameter.name);
  layout::MegatronFsdpV1Options options{.world = data_parallel(recorded)};
  if (const auto expert = recorded.config.find("expert_dp")) options.expert_world = expert->small_integer(1);
  options.strategy = strategy_of(recorded.config.at("strategy"));
  options.suggested_bucket_size = recorded.config.at("suggested_bucket_size").integer(0);
  json output{{"buffers", json::array()}};
  for (const Buffer& buffer : layout::megatron_fsdp_v1(params, options).buffers) {
    json result = sharded_buffer_as_json(buffer);
    const auto& key = buffer.key;
    result["key"] = {{"dtype", key.storage == DType::u8 ? "float8" : recorded_name(key.storage)},
                     {"expert", key.expert},
                     {"requires_grad", key.requires_grad},
                     {"unit", unit_as_json(key.unit)}};
    result["chunk"] = buffer.chunk;
    const std::int64_t uncovered = buffer.size % buffer.world;
    if (uncovered != 0) result["uncovered_tail"] = uncovered;
    output["buffers"].push_back(result);
  }
  if (recorded.mesh.size() == 2) output["rank_to_shard_index"] = rank_to_shard_index(recorded);
  return output;
}

json mfsdp_v2_flat(const RecordedLayout& recorded) {
  const Layout layout = layout::mfsdp_v2_flat(recorded.params, {.world = data_parallel(recorded)});
  json output = v2_output(only_buffer(layout));
  if (recorded.mesh.size() == 2) output["mesh_ranges"] = mesh_ranges(recorded, only_buffer(layout));
  return output;
}

json mfsdp_v2_block_atomic(const RecordedLayout& recorded) {
  const std::int64_t block = recorded.config.at("block_size").integer(1);
  const Layout layout =
      layout::mfsdp_v2_block_atomic(recorded.params, {.world = data_parallel(recorded), .block_rows = block});
  const Buffer& buffer = only_buffer(layout);
  json output = v2_output(buffer);
  if (block != layout::kMxfp8Block) return output;
  const auto scales = layout::mxfp8_scales(buffer, recorded.params);
  if (scales.empty()) return output;
  json& planes = output["mxfp8"];
  planes["provenance"] = "reimplemented";
  planes["scale_size"] = buffer.size / layout::kMxfp8Block;
  for (const auto& scale : scales) {
    planes["scale_params"].push_back({scale.param.value, scale.lo, scale.hi});
    planes["rowwise_scale_shape"].push_back(scale.rowwise);
    planes["columnwise_scale_shape"].push_back(scale.columnwise);
  }
  return output;
}

json mfsdp_v2_tensor_atomic(const RecordedLayout& recorded) {
  std::vector<Rank> owners;
  for (const Field& owner : recorded.config.at("owners").list())
    owners.push_back(Rank{owner.small_integer(0)});
  json output = json::object();
  if (recorded.config.at("owner_source").text() == "planned") plan_owners(recorded, owners, output);
  const Buffer buffer = layout::mfsdp_v2_tensor_atomic(recorded.params, owners, data_parallel(recorded));
  output["buffers"].push_back(buffer_as_json(buffer));
  for (const Rank rank : recorded_ranks(buffer.world)) {
    output["buffers"][0]["base"].push_back({rank.value, buffer.bounds[rank.value]});
  }
  return output;
}

}  // namespace shardcheck::conform
