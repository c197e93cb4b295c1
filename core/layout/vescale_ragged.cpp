#include "core/layout/vescale_ragged.h"

#include <algorithm>
#include <string>

#include "core/layout/rejection.h"

namespace shardcheck::layout {
namespace {

/// W + 1 boundaries of the pieces.
std::vector<std::int64_t> bounds_of(const Parameter& parameter, std::span<const std::int64_t> units) {
  std::int64_t sum = 0;
  for (const std::int64_t unit : units) {
    if (unit < 0) throw bad_input("units", std::to_string(unit) + " is negative; units are at least 0");
    sum = add_sizes(sum, unit);
  }
  if (sum == 0) throw bad_input("units", "they are all 0, so no rank would hold " + parameter.name);
  const std::int64_t numel = parameter.numel();
  if (numel % sum != 0) {
    throw Rejected(Reason::units_do_not_divide_numel, parameter.name,
                   "the units sum to " + std::to_string(sum) + ", which does not divide its " +
                       std::to_string(numel) + " elements");
  }
  std::vector<std::int64_t> bounds{0};
  for (const std::int64_t unit : units) bounds.push_back(bounds.back() + numel / sum * unit);
  return bounds;
}

/// Elements below one index of the cut dimensions.
std::int64_t granularity_of(const Parameter& parameter, std::int32_t dims) {
  return parameter.product_from(static_cast<std::size_t>(std::max(dims, 0)));
}

}  // namespace

Buffer vescale_ragged(const Parameter& parameter, const RaggedOptions& options) {
  Buffer buffer{.cut = Cut::listed};
  buffer.world = static_cast<std::int32_t>(options.units.size());
  buffer.bounds = bounds_of(parameter, options.units);
  buffer.size = parameter.numel();
  const std::int64_t granularity = std::max<std::int64_t>(granularity_of(parameter, options.dims), 1);
  for (const std::int64_t bound : buffer.bounds) {
    if (bound % granularity == 0) continue;
    throw Rejected(Reason::local_numel_not_a_multiple_of_granularity, parameter.name,
                   "a rank would hold part of a slice of " + std::to_string(granularity) +
                       " elements, so its piece has no shape; change the units or cut more dimensions");
  }
  buffer.buckets.push_back({0, buffer.size, buffer.size});
  buffer.slots.push_back({ParamId{0}, 0, buffer.size, 0, buffer.size});
  finish_buffer(buffer);
  return buffer;
}

std::vector<std::int64_t> ragged_local_shape(const Parameter& parameter, const RaggedOptions& options,
                                             Rank rank) {
  const std::vector<std::int64_t> bounds = bounds_of(parameter, options.units);
  const std::int64_t granularity = std::max<std::int64_t>(granularity_of(parameter, options.dims), 1);
  std::vector<std::int64_t> shape{(bounds[rank.value + 1] - bounds[rank.value]) / granularity};
  for (std::size_t d = options.dims; d < parameter.shape.size(); ++d) shape.push_back(parameter.shape[d]);
  return shape;
}

std::vector<std::vector<std::int64_t>> ragged_send_matrix(const Parameter& parameter,
                                                          const RaggedMove& move) {
  const std::vector<std::int64_t> from = bounds_of(parameter, move.from);
  const std::vector<std::int64_t> to = bounds_of(parameter, move.to);
  std::vector<std::vector<std::int64_t>> matrix;
  for (std::size_t source = 0; source + 1 < from.size(); ++source) {
    auto& row = matrix.emplace_back();
    for (std::size_t target = 0; target + 1 < to.size(); ++target) {
      const std::int64_t lo = std::max(from[source], to[target]);
      const std::int64_t hi = std::min(from[source + 1], to[target + 1]);
      row.push_back(std::max<std::int64_t>(hi - lo, 0));
    }
  }
  return matrix;
}

}  // namespace shardcheck::layout
