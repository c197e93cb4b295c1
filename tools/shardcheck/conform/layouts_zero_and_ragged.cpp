// Recorded outputs of the DeepSpeed and veScale layouts (shard-layouts 2.12 to 2.14), recomputed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/layout/ragged_planner.h"
#include "core/layout/vescale_ragged.h"
#include "core/layout/zero12_flat.h"
#include "core/layout/zero3_flat.h"
#include "tools/shardcheck/conform/layouts_as_json.h"
#include "tools/shardcheck/conform/layouts_recompute.h"

namespace shardcheck::conform {

using layout::Buffer;
using layout::Layout;
using nlohmann::json;

namespace {

json zero3_secondary(const RecordedLayout& recorded, std::int32_t world, std::int32_t group_size) {
  json rows = json::array();
  for (std::int32_t rank = 0; rank < group_size; ++rank) {
    for (std::size_t p = 0; p < recorded.params.size(); ++p) {
      const auto held =
          layout::zero3_secondary(recorded.params[p], world, {.rank = rank, .group_size = group_size});
      json segments = json::array();
      if (held.real.numel() > 0) segments.push_back({p, held.real.lo, held.real.hi, 0});
      rows.push_back({rank, p, held.part, segments});
    }
  }
  return rows;
}

json ragged_generic(const RecordedLayout& recorded) {
  layout::RaggedOptions options;
  options.dims = recorded.config.at("dims").small_integer(0);
  options.units = recorded.config.at("units").integers(0);
  const layout::Parameter& parameter = recorded.params.front();
  json output{{"buffers", {buffer_as_json(layout::vescale_ragged(parameter, options))}}};
  const auto ranks = static_cast<std::int32_t>(options.units.size());
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    output["local_shapes"].push_back(layout::ragged_local_shape(parameter, options, Rank{rank}));
  }
  return output;
}

}  // namespace

json zero12_flat(const RecordedLayout& recorded) {
  layout::Zero12Options options{.world = data_parallel(recorded)};
  if (recorded.config.at("round_robin").boolean()) options.order = layout::ZeroOrder::round_robin;
  json buffers = json::array();
  for (const Buffer& buffer : layout::zero12_flat(recorded.params, options).buffers) {
    buffers.push_back(sharded_buffer_as_json(buffer));
    buffers.back()["key"] = {{"group", buffer.key.group}};
    buffers.back()["total"] = buffer.total;
  }
  return {{"buffers", buffers}};
}

json zero3_flat(const RecordedLayout& recorded) {
  layout::Zero3Options options{.world = data_parallel(recorded)};
  if (const auto size = recorded.config.find("sub_group_size")) options.sub_group_size = size->integer(0);
  json output{{"buffers", json::array()}, {"partition", json::array()}};
  for (const Buffer& buffer : layout::zero3_flat(recorded.params, options).buffers) {
    json result = sharded_buffer_as_json(buffer);
    result["key"] = {{"group", buffer.key.group}};
    for (const std::int32_t listed : buffer.order) {
      const auto& parameter = recorded.params[buffer.slots[listed].param.value];
      const layout::Zero3LastRank last = layout::zero3_last_rank(parameter, options.world);
      result["recorded_padding_last_rank"].push_back(last.recorded_padding);
      result["lean_length_last_rank"].push_back(last.lean_length);
    }
    output["buffers"].push_back(result);
  }
  for (std::size_t p = 0; p < recorded.params.size(); ++p) {
    const std::int64_t part = layout::zero3_part(recorded.params[p], options.world);
    output["partition"].push_back({p, part, layout::multiply_sizes(part, options.world)});
  }
  if (const auto node = recorded.config.find("hpz_partition_size")) {
    output["secondary"] = zero3_secondary(recorded, options.world, node->small_integer(1));
  }
  return output;
}

json vescale_ragged(const RecordedLayout& recorded) {
  const Field mode = recorded.config.at("mode");
  if (mode.text() == "plan") {
    const layout::RaggedPlanOptions options{.world = recorded.world,
                                            .granularity = recorded.config.at("granularity").integer(1)};
    return {{"buffers", {sharded_buffer_as_json(layout::plan_ragged(recorded.params, options))}}};
  }
  if (recorded.params.size() != 1) throw bad_input("params", "this mode records exactly one parameter");
  if (mode.text() == "generic") return ragged_generic(recorded);
  if (mode.text() != "redistribute") mode.reject("generic, redistribute or plan");
  const layout::RaggedMove move{recorded.config.at("units_from").integers(0),
                                recorded.config.at("units_to").integers(0)};
  return {{"send_matrix", layout::ragged_send_matrix(recorded.params.front(), move)}};
}

}  // namespace shardcheck::conform
