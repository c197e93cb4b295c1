// Recorded outputs of the PyTorch layouts (shard-layouts 2.9 to 2.11), recomputed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/layout/digest.h"
#include "core/layout/dtensor_nd.h"
#include "core/layout/fsdp1_flat.h"
#include "core/layout/fsdp2_per_param.h"
#include "tools/shardcheck/conform/layouts_as_json.h"
#include "tools/shardcheck/conform/layouts_recompute.h"

namespace shardcheck::conform {

using layout::Buffer;
using layout::Layout;
using nlohmann::json;

namespace {

json byte_view(const RecordedLayout& recorded, const Buffer& buffer) {
  const auto ranges = layout::fsdp2_byte_slots(buffer, recorded.params);
  json slots = json::array();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    slots.push_back({buffer.slots[i].param.value, ranges[i].lo, ranges[i].hi});
  }
  return {{"shard_bytes", ranges.back().hi}, {"slots", slots}};
}

layout::Placement placement_of(const Field& field) {
  using Kind = layout::Placement::Kind;
  const std::vector<Field> parts = field.list();
  const std::string expected = R"(["R"], ["P"], ["S", dim] or ["SS", dim, split_factor])";
  if (parts.empty()) field.reject(expected);
  const std::string kind = parts[0].text();
  if (kind == "R" && parts.size() == 1) return {Kind::replicate};
  if (kind == "P" && parts.size() == 1) return {Kind::partial};
  if (kind == "S" && parts.size() == 2) return {Kind::shard, parts[1].small_integer(0)};
  if (kind != "SS" || parts.size() != 3) field.reject(expected);
  return {Kind::strided_shard, parts[1].small_integer(0), parts[2].small_integer(1)};
}

/// The recorded gather: one mesh axis, strided along dim 0, at most 64 elements.
std::optional<layout::StridedCut> recorded_gather(const RecordedLayout& recorded,
                                                  const layout::DtensorOptions& options) {
  const auto& shape = recorded.params.front().shape;
  const bool strided =
      options.placements.size() == 1 && options.placements[0].kind == layout::Placement::Kind::strided_shard;
  if (!strided || options.placements[0].dim != 0 || shape[0] > 64) return std::nullopt;
  return layout::StridedCut{shape[0], options.placements[0].split_factor, options.mesh[0]};
}

}  // namespace

json fsdp1_flat(const RecordedLayout& recorded) {
  layout::Fsdp1Options options{.world = data_parallel(recorded)};
  options.mode =
      recorded.config.at("use_orig_params").boolean() ? layout::Fsdp1Mode::aligned : layout::Fsdp1Mode::plain;
  if (const auto dtype = recorded.config.find("compute_dtype")) options.compute_dtype = dtype->dtype();
  const Layout layout = layout::fsdp1_flat(recorded.params, options);
  json output{{"buffers", {sharded_buffer_as_json(only_buffer(layout))}}};
  output["buffers"][0]["total"] = only_buffer(layout).total;
  return output;
}

json fsdp2_per_param(const RecordedLayout& recorded) {
  const layout::Fsdp2Options options{.world = data_parallel(recorded)};
  const Layout layout = layout::fsdp2_per_param(recorded.params, options);
  const Buffer& buffer = only_buffer(layout);
  json output{{"buffers", {sharded_buffer_as_json(buffer)}}};
  const auto differs = [&](const auto& parameter) {
    return parameter.dtype != recorded.params.front().dtype;
  };
  if (std::ranges::any_of(recorded.params, differs))
    output["buffers"][0]["byte_view"] = byte_view(recorded, buffer);
  for (const Rank rank : recorded_ranks(buffer.world)) {
    json shapes = json::array();
    for (const auto& parameter : recorded.params) {
      shapes.push_back(layout::fsdp2_local_shape(parameter, rank, options));
    }
    output["local_shapes"].push_back({rank.value, shapes});
  }
  return output;
}

json dtensor_nd(const RecordedLayout& recorded) {
  layout::DtensorOptions options{.mesh = recorded.mesh};
  for (const Field& placement : recorded.config.at("placements").list()) {
    options.placements.push_back(placement_of(placement));
  }
  for (const Field& axis : recorded.config.at("order").list()) options.order.push_back(axis.small_integer(0));
  if (recorded.params.size() != 1) throw bad_input("params", "this layout records exactly one parameter");
  const auto& shape = recorded.params.front().shape;
  const std::vector<Rank> stored = recorded_ranks(recorded.world);
  json ranks = json::array();
  layout::Fnv1a hash;
  for (std::int32_t rank = 0; rank < recorded.world; ++rank) {
    const layout::DtensorLocal local = layout::dtensor_local(shape, options, Rank{rank});
    hash.add(rank);
    json index = json::array();
    for (const auto& runs : local.index) {
      hash.add(static_cast<std::int64_t>(runs.size()));
      json dim = json::array();
      for (const layout::Range& run : runs) {
        hash.add(run.lo);
        hash.add(run.hi);
        dim.push_back({run.lo, run.hi});
      }
      index.push_back(dim);
    }
    if (std::ranges::find(stored, Rank{rank}) == stored.end()) continue;
    const auto coordinate = layout::mesh_coordinate(recorded.mesh, Rank{rank});
    ranks.push_back({rank, coordinate, local.local_shape, local.global_offset, index});
  }
  json output{{"ranks", ranks}, {"digest", layout::hexadecimal(hash.value())}};
  if (const auto gather = recorded_gather(recorded, options)) {
    output["unshard"] = layout::upstream_strided_unshard(*gather);
  }
  return output;
}

}  // namespace shardcheck::conform
