#include "core/layout/megatron_ddp_nopad.h"

#include <ranges>

namespace shardcheck::layout {
namespace {

Buffer place(std::span<const Parameter> parameters, const DdpGroup& group,
             const MegatronDdpOptions& options) {
  Buffer buffer{.key = group.key, .world = group.world, .cut = Cut::replicated};
  std::int64_t cursor = 0;
  std::int64_t start = 0;
  const auto close = [&] {
    buffer.buckets.push_back({start, cursor, cursor - start});
    start = cursor;
  };
  bool open = false;
  for (const ParamId id : std::views::reverse(group.params)) {
    const std::int64_t numel = parameters[id.value].numel();
    const std::int64_t end = add_sizes(cursor, numel);
    buffer.slots.push_back({id, cursor, end, static_cast<std::int32_t>(buffer.buckets.size()), numel});
    cursor = end;
    open = true;
    // Closing after the parameter that crosses the limit lets a bucket exceed it by one parameter.
    if (options.bucket_size && cursor - start >= *options.bucket_size) {
      close();
      open = false;
    }
  }
  if (open) close();
  buffer.size = cursor;
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout megatron_ddp_nopad(std::span<const Parameter> parameters, const MegatronDdpOptions& options) {
  Layout layout;
  for (const DdpGroup& group : group_for_ddp(parameters, options)) {
    layout.buffers.push_back(place(parameters, group, options));
  }
  return layout;
}

}  // namespace shardcheck::layout
