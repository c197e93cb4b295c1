#include "core/layout/fsdp2_per_param.h"

#include <algorithm>
#include <string>

#include "core/layout/rejection.h"
#include "core/layout/unit_groups.h"

namespace shardcheck::layout {
namespace {

void check(const Parameter& parameter, std::int32_t world) {
  const std::int32_t k = parameter.shard_dim;
  if (parameter.shape.empty()) {
    throw Rejected(Reason::zero_dim_tensor, parameter.name,
                   "a scalar cannot be sharded; give it the shape (1)");
  }
  if (k < 0 || k >= static_cast<std::int32_t>(parameter.shape.size())) {
    throw Rejected(
        Reason::shard_dim_out_of_range, parameter.name,
        "dimension " + std::to_string(k) + " of a tensor with " + std::to_string(parameter.shape.size()));
  }
  if (k > 0 && parameter.shape[k] % world != 0) {
    throw Rejected(Reason::uneven_nonzero_dim, parameter.name,
                   "dimension " + std::to_string(k) + " is " + std::to_string(parameter.shape[k]) +
                       ", which " + std::to_string(world) +
                       " ranks do not divide; only dimension 0 may be uneven");
  }
}

std::int64_t pieces_of(const Parameter& parameter) {
  std::int64_t pieces = 1;
  for (std::int32_t d = 0; d < parameter.shard_dim; ++d) pieces = multiply_sizes(pieces, parameter.shape[d]);
  return std::max<std::int64_t>(pieces, 1);  // an empty tensor has no pieces, and nothing divides by 0
}

Buffer place(std::span<const Parameter> parameters, const UnitGroup& group, std::int32_t world) {
  Buffer buffer{.key = group.key, .world = world, .cut = Cut::per_parameter};
  std::int64_t cursor = 0;
  std::int64_t payload = 0;
  for (const ParamId id : group.params) {
    const Parameter& parameter = parameters[id.value];
    check(parameter, world);
    const std::int64_t numel = parameter.numel();
    const std::int64_t width = parameter.shard_dim == 0
                                   ? multiply_sizes(div_ceil(parameter.shape[0], world), parameter.row())
                                   : numel / world;
    const std::int64_t end = add_sizes(cursor, width);
    buffer.slots.push_back({id, cursor, end, 0, numel, pieces_of(parameter)});
    cursor = end;
    payload = add_sizes(payload, numel);
  }
  buffer.size = multiply_sizes(world, cursor);
  buffer.buckets.push_back({0, buffer.size, payload});
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout fsdp2_per_param(std::span<const Parameter> parameters, const Fsdp2Options& options) {
  Layout layout;
  for (const UnitGroup& group : group_by_unit(parameters, SplitBy::unit)) {
    layout.buffers.push_back(place(parameters, group, options.world));
  }
  return layout;
}

std::vector<std::int64_t> fsdp2_local_shape(const Parameter& parameter, Rank rank,
                                            const Fsdp2Options& options) {
  std::vector<std::int64_t> shape = parameter.shape;
  std::int64_t& extent = shape[parameter.shard_dim];
  const std::int64_t chunk = div_ceil(extent, options.world);
  extent = std::clamp<std::int64_t>(extent - rank.value * chunk, 0, chunk);
  // The original derives the shape of an empty chunk from the whole and sets the cut extent to 0, so (0, 9)
  // cut along dimension 1 is (0, 0) everywhere.
  if (parameter.numel() == 0) extent = 0;
  return shape;
}

std::vector<Range> fsdp2_byte_slots(const Buffer& buffer, std::span<const Parameter> parameters) {
  std::vector<Range> slots;
  std::int64_t cursor = 0;
  for (const Slot& slot : buffer.slots) {
    const std::int64_t bytes =
        multiply_sizes(slot.hi - slot.lo, bytes_of(parameters[slot.param.value].dtype));
    slots.push_back({cursor, add_sizes(cursor, bytes)});
    cursor += bytes;
  }
  return slots;
}

}  // namespace shardcheck::layout
