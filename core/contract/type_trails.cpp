#include "core/contract/type_trails.h"

#include <algorithm>

namespace shardcheck {

TypeTrails::TypeTrails(const Plan& plan) : buffers_(plan.buffers.size()) {
  ranges_.resize(buffers_ * static_cast<std::size_t>(plan.ranks));
}

void TypeTrails::set(Rank rank, View view, const Trail& trail) {
  if (view.numel == 0) return;
  Ranges& ranges = ranges_[slot(rank, view.buffer)];
  const std::int64_t begin = view.offset, end = view.offset + view.numel;
  auto next = ranges.lower_bound(begin);
  if (next != ranges.begin() && std::prev(next)->second.end > begin) {
    const Range cut = std::prev(next)->second;
    std::prev(next)->second.end = begin;
    if (cut.end > end) next = ranges.emplace_hint(next, end, cut);
  }
  while (next != ranges.end() && next->first < end) {
    if (next->second.end > end) ranges.emplace(end, next->second);
    next = ranges.erase(next);
  }
  ranges[begin] = {end, trail};
}

std::vector<TrailPiece> TypeTrails::of(Rank rank, View view) const {
  std::vector<TrailPiece> pieces;
  const Ranges& ranges = ranges_[slot(rank, view.buffer)];
  std::int64_t at = view.offset;
  const std::int64_t end = view.offset + view.numel;
  const auto append = [&](std::int64_t to, const Trail& trail) {
    if (to <= at) return;
    pieces.push_back({{view.buffer, at, to - at}, trail});
    at = to;
  };
  auto next = ranges.upper_bound(at);
  if (next != ranges.begin()) --next;
  for (; next != ranges.end() && next->first < end; ++next) {
    append(std::min(next->first, end), {});
    append(std::min(next->second.end, end), next->second.trail);
  }
  append(end, {});
  return pieces;
}

}  // namespace shardcheck
