#include "core/layout/mfsdp_v2_flat.h"

#include <algorithm>
#include <ranges>

#include "core/layout/gap_packing.h"
#include "core/layout/rejection.h"
#include "core/layout/unit_groups.h"

namespace shardcheck::layout {
namespace {

void check(const Parameter& parameter, std::int64_t block_rows) {
  if (parameter.shape.empty()) {
    throw Rejected(Reason::zero_dim_tensor, parameter.name, "a scalar has no rows; give it the shape (1)");
  }
  if (parameter.row() == 0) {
    throw Rejected(Reason::zero_row_size, parameter.name, "a trailing extent is 0, so its rows are empty");
  }
  if (parameter.shape[0] % block_rows != 0) {
    throw Rejected(Reason::dim0_not_multiple_of_block, parameter.name,
                   "dimension 0 is " + std::to_string(parameter.shape[0]) + "; blocks of " +
                       std::to_string(block_rows) + " rows need a multiple of that");
  }
}

Buffer place(std::span<const Parameter> parameters, const UnitGroup& group, const MfsdpV2Options& options) {
  Buffer buffer{.key = group.key, .world = options.world, .cut = Cut::equal};
  buffer.chunk = 1;
  std::vector<PackedTensor> tensors;
  std::int64_t payload = 0;
  for (const ParamId id : group.params) {
    const Parameter& parameter = parameters[id.value];
    check(parameter, options.block_rows);
    const std::int64_t block = multiply_sizes(options.block_rows, parameter.row());
    tensors.push_back({.numel = parameter.numel(), .start_unit = block});
    buffer.chunk = lcm_sizes(buffer.chunk, block);
    payload = add_sizes(payload, tensors.back().numel);
  }
  const GapPacking packing = pack_into_gaps(tensors, buffer.chunk, FragmentOrder::numel_descending);
  buffer.size = round_up_size(packing.end, multiply_sizes(options.world, buffer.chunk));
  buffer.buckets.push_back({0, buffer.size, payload});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t lo = packing.offsets[i];
    SC_ASSERT(lo % tensors[i].start_unit == 0, "L8: a tensor starts inside a block");
    buffer.slots.push_back({group.params[i], lo, lo + tensors[i].numel, 0, tensors[i].numel});
  }
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout mfsdp_v2_flat(std::span<const Parameter> parameters, const MfsdpV2Options& options) {
  Layout layout;
  for (const UnitGroup& group : group_by_unit(parameters, SplitBy::unit_dtype_and_requires_grad)) {
    layout.buffers.push_back(place(parameters, group, options));
  }
  return layout;
}

bool upstream_sees_false_overlap(const Buffer& buffer) {
  // The original sorts by start only, so tensors with one start stay in the order of their ids.
  std::vector<std::int32_t> by_start = buffer.order;
  std::ranges::stable_sort(by_start, {}, [&](std::int32_t slot) { return buffer.slots[slot].lo; });
  for (std::size_t i = 1; i < by_start.size(); ++i) {
    if (buffer.slots[by_start[i]].lo < buffer.slots[by_start[i - 1]].hi) return true;
  }
  return false;
}

Range mesh_range(std::int64_t size, std::span<const MeshAxis> axes) {
  std::int64_t offset = 0;
  for (const MeshAxis& axis : std::views::reverse(axes)) {
    if (!axis.flat) continue;
    size = div_exact(size, axis.size);
    offset += axis.coordinate * size;
  }
  return {offset, offset + size};
}

}  // namespace shardcheck::layout
