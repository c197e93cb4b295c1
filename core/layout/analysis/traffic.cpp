#include "core/layout/analysis/traffic.h"

#include <algorithm>

#include "core/layout/reshard.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

std::int32_t world_of(const Layout& layout) {
  std::int32_t world = 1;
  for (const Buffer& buffer : layout.buffers) world = std::max(world, buffer.world);
  return world;
}

Traffic move(const Ownership& from, const Ownership& to, ParamId param, std::int64_t width,
             std::vector<RankTraffic>& ranks) {
  Traffic traffic;
  ReshardCursor cursor(from, to, param);
  while (const auto copy = cursor.next()) {
    const std::int64_t bytes = multiply_sizes(copy->numel, width);
    ++traffic.copies;
    if (copy->from.rank == copy->to.rank) {
      traffic.staying += bytes;
      continue;
    }
    traffic.crossing += bytes;
    ranks[copy->from.rank.value].sent += bytes;
    ranks[copy->to.rank.value].received += bytes;
  }
  return traffic;
}

}  // namespace

TrafficReport traffic_between(const Ownership& from, const Ownership& to,
                              std::span<const Parameter> parameters) {
  TrafficReport report;
  report.parameters.resize(parameters.size());
  report.ranks.resize(std::max(world_of(from.layout()), world_of(to.layout())));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParamId param{static_cast<std::int32_t>(i)};
    if (parameters[i].tied_to) continue;
    if (!from.holds(param) || !to.holds(param)) {
      ++report.left_out;
      continue;
    }
    const Traffic moved = move(from, to, param, bytes_of(parameters[i].dtype), report.ranks);
    report.parameters[i] = moved;
    report.total.copies += moved.copies;
    report.total.staying = add_sizes(report.total.staying, moved.staying);
    report.total.crossing = add_sizes(report.total.crossing, moved.crossing);
  }
  return report;
}

}  // namespace shardcheck::layout
