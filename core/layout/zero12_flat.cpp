#include "core/layout/zero12_flat.h"

#include "core/layout/optimizer_groups.h"

namespace shardcheck::layout {
namespace {

std::vector<ParamId> round_robin(const std::vector<ParamId>& params, std::size_t world) {
  std::vector<ParamId> order;
  for (std::size_t first = 0; first < std::min(world, params.size()); ++first) {
    for (std::size_t i = first; i < params.size(); i += world) order.push_back(params[i]);
  }
  return order;
}

Buffer place(std::span<const Parameter> parameters, const OptimizerGroup& group,
             const Zero12Options& options) {
  Buffer buffer{.key = group.key, .world = options.world, .cut = Cut::equal};
  const std::vector<ParamId> params =
      options.order == ZeroOrder::round_robin ? round_robin(group.params, options.world) : group.params;
  for (const ParamId id : params) {
    const std::int64_t numel = parameters[id.value].numel();
    const std::int64_t end = add_sizes(buffer.total, numel);
    buffer.slots.push_back({id, buffer.total, end, 0, numel});
    buffer.total = end;
  }
  // Two elements a rank: the original asks for 4 bytes and assumes a 2-byte dtype.
  buffer.size = round_up_size(buffer.total, 2 * static_cast<std::int64_t>(options.world));
  buffer.buckets.push_back({0, buffer.size, buffer.total});
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout zero12_flat(std::span<const Parameter> parameters, const Zero12Options& options) {
  Layout layout;
  for (const OptimizerGroup& group : group_for_optimizer(parameters)) {
    layout.buffers.push_back(place(parameters, group, options));
  }
  return layout;
}

}  // namespace shardcheck::layout
