#include "core/layout/zero3_flat.h"

#include <string>

#include "core/layout/optimizer_groups.h"

namespace shardcheck::layout {
namespace {

Buffer place(std::span<const Parameter> parameters, BufferKey key, std::span<const ParamId> params,
             std::int32_t world) {
  Buffer buffer{.key = key, .world = world, .cut = Cut::per_parameter};
  std::int64_t cursor = 0;
  std::int64_t payload = 0;
  for (const ParamId id : params) {
    const std::int64_t end = add_sizes(cursor, zero3_part(parameters[id.value], world));
    const std::int64_t numel = parameters[id.value].numel();
    buffer.slots.push_back({id, cursor, end, 0, numel});
    cursor = end;
    payload = add_sizes(payload, numel);
  }
  buffer.size = multiply_sizes(world, cursor);
  buffer.buckets.push_back({0, buffer.size, payload});
  finish_buffer(buffer);
  return buffer;
}

/// Cuts a group after each parameter at which the running sum of parts reaches the limit.
void place_sub_groups(std::span<const Parameter> parameters, const OptimizerGroup& group,
                      const Zero3Options& options, Layout& layout) {
  const std::span<const ParamId> params = group.params;
  std::int64_t sum = 0;
  for (const ParamId id : params) sum = add_sizes(sum, zero3_part(parameters[id.value], options.world));
  if (!options.sub_group_size || sum <= *options.sub_group_size) {
    layout.buffers.push_back(place(parameters, group.key, params, options.world));
    return;
  }
  std::size_t first = 0;
  std::int64_t running = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    running += zero3_part(parameters[params[i].value], options.world);
    if (running < *options.sub_group_size && i + 1 < params.size()) continue;
    layout.buffers.push_back(
        place(parameters, group.key, params.subspan(first, i + 1 - first), options.world));
    first = i + 1;
    running = 0;
  }
}

}  // namespace

std::int64_t zero3_part(const Parameter& parameter, std::int32_t world) {
  return div_ceil(parameter.numel(), world);
}

Layout zero3_flat(std::span<const Parameter> parameters, const Zero3Options& options) {
  Layout layout;
  for (const OptimizerGroup& group : group_for_optimizer(parameters)) {
    place_sub_groups(parameters, group, options, layout);
  }
  return layout;
}

Zero3LastRank zero3_last_rank(const Parameter& parameter, std::int32_t world) {
  const std::int64_t part = zero3_part(parameter, world);
  const std::int64_t padding = multiply_sizes(part, world) - parameter.numel();
  return {padding, part - padding};
}

Zero3Secondary zero3_secondary(const Parameter& parameter, std::int32_t world, NodeRank node) {
  const std::int64_t padded = multiply_sizes(zero3_part(parameter, world), world);
  if (node.group_size < 1 || padded % node.group_size != 0) {
    throw bad_input("hpz_partition_size", std::to_string(node.group_size) +
                                              " ranks do not divide the padded size " +
                                              std::to_string(padded) + " of " + parameter.name);
  }
  const std::int64_t part = padded / node.group_size;
  const std::int64_t numel = parameter.numel();
  const std::int64_t lo = std::min(numel, node.rank * part);
  return {part, {lo, std::min(numel, lo + part)}};
}

}  // namespace shardcheck::layout
