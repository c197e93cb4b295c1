#include "core/layout/megatron_ddp.h"

#include <ranges>

namespace shardcheck::layout {
namespace {

// Elements, not bytes, although a docstring of the original says bytes.
constexpr std::int64_t kStartAlignment = 64;

/// The walk of shard-layouts 2.3 with its state.
struct Walk {
  Buffer& buffer;
  std::int64_t granularity;  ///< D
  std::int64_t cursor = 0;
  std::int64_t start = 0;  ///< of the open bucket
  bool open = false;

  void close(std::int64_t end) {
    const std::int64_t padded = round_up_size(end, granularity);
    buffer.buckets.push_back({start, padded, end - start});
    start = cursor = padded;
    open = false;
  }

  void place(ParamId id, const Parameter& parameter, const std::optional<std::int64_t>& bucket_size) {
    cursor = round_up_size(cursor, kStartAlignment);
    // The end is already rounded to 64 here, so "unpadded" of this bucket contains alignment padding.
    if (parameter.shared_embedding && open) close(cursor);
    const std::int64_t numel = parameter.numel();
    const std::int64_t end = add_sizes(cursor, numel);
    buffer.slots.push_back({id, cursor, end, static_cast<std::int32_t>(buffer.buckets.size()), numel});
    open = true;
    if ((bucket_size && end - start >= *bucket_size) || parameter.shared_embedding) return close(end);
    cursor = end;
  }
};

}  // namespace

Buffer place_megatron_ddp(std::span<const Parameter> parameters, const DdpGroup& group,
                          const MegatronDdpOptions& options) {
  Buffer buffer{.key = group.key, .world = group.world, .cut = Cut::equal};
  Walk walk{buffer, ddp_bucket_granularity(group.world, options)};
  for (const ParamId id : std::views::reverse(group.params)) {
    walk.place(id, parameters[id.value], options.bucket_size);
  }
  if (walk.open) walk.close(walk.cursor);
  buffer.size = walk.cursor;
  finish_buffer(buffer);
  return buffer;
}

Layout megatron_ddp(std::span<const Parameter> parameters, const MegatronDdpOptions& options) {
  Layout layout;
  for (const DdpGroup& group : group_for_ddp(parameters, options)) {
    layout.buffers.push_back(place_megatron_ddp(parameters, group, options));
  }
  return layout;
}

}  // namespace shardcheck::layout
