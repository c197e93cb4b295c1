#include "core/layout/fsdp1_flat.h"

#include "core/layout/rejection.h"
#include "core/layout/unit_groups.h"

namespace shardcheck::layout {
namespace {

void check(const Parameter& parameter, const Parameter& first, Fsdp1Mode mode) {
  if (parameter.dtype != first.dtype) {
    throw Rejected(Reason::mixed_dtype, parameter.name,
                   "its dtype " + std::string(name_of(parameter.dtype)) + " differs from " +
                       std::string(name_of(first.dtype)) + " of " + first.name +
                       "; a flat parameter has one dtype");
  }
  if (mode == Fsdp1Mode::plain && parameter.requires_grad != first.requires_grad) {
    throw Rejected(
        Reason::mixed_requires_grad, parameter.name,
        "requires_grad differs from " + first.name + "; use original parameters or separate units");
  }
}

Buffer place(std::span<const Parameter> parameters, const UnitGroup& group, const Fsdp1Options& options) {
  const Parameter& first = parameters[group.params.front().value];
  for (const ParamId id : group.params) check(parameters[id.value], first, options.mode);
  const bool aligned = options.mode == Fsdp1Mode::aligned;
  // 16 is bytes: a vectorised kernel wants its start there.
  const std::int64_t alignment = aligned ? 16 / bytes_of(options.compute_dtype.value_or(first.dtype)) : 1;

  Buffer buffer{.key = group.key, .world = options.world, .cut = Cut::equal};
  std::int64_t cursor = 0;
  for (const ParamId id : group.params) {
    const std::int64_t numel = parameters[id.value].numel();
    cursor = round_up_size(cursor, alignment);
    buffer.slots.push_back({id, cursor, add_sizes(cursor, numel), 0, numel});
    cursor += numel;
  }
  buffer.total = aligned ? round_up_size(cursor, options.world) : cursor;
  if (buffer.total == 0) {
    throw Rejected(Reason::empty_flat_parameter, first.name,
                   "its unit has no elements at all, and a flat parameter cannot be empty");
  }
  buffer.size = round_up_size(buffer.total, options.world);
  buffer.buckets.push_back({0, buffer.size, buffer.total});
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout fsdp1_flat(std::span<const Parameter> parameters, const Fsdp1Options& options) {
  Layout layout;
  for (const UnitGroup& group : group_by_unit(parameters, SplitBy::unit)) {
    layout.buffers.push_back(place(parameters, group, options));
  }
  return layout;
}

}  // namespace shardcheck::layout
