#include "properties/cast_law/policy_ranges.h"

#include <algorithm>

#include "core/assert.h"

namespace shardcheck {
namespace {

/// Every magnitude at which either of them changes its code, and the end.
std::vector<std::uint32_t> boundaries_of(const NearestCode& a, const NearestCode& b) {
  std::vector<std::uint32_t> boundaries = {0x80000000u};
  for (const NearestCode* each : {&a, &b}) {
    for (const NearestCode::Run& run : each->runs()) boundaries.push_back(run.first);
  }
  std::ranges::sort(boundaries);
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  return boundaries;
}

}  // namespace

std::vector<DifferingRange> ranges_that_differ(const NearestCode& first, const NearestCode& second) {
  const std::vector<std::uint32_t> boundaries = boundaries_of(first, second);
  std::vector<DifferingRange> ranges;
  for (std::uint32_t sign : {0u, 0x80000000u}) {
    if (sign != 0 && !(first.has_negative_sources() && second.has_negative_sources())) break;
    for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
      const DifferingRange range{sign | boundaries[i], sign | (boundaries[i + 1] - 1),
                                 first(sign | boundaries[i]), second(sign | boundaries[i])};
      if (range.by_first == range.by_second) continue;
      const bool continues = !ranges.empty() && ranges.back().last + 1 == range.first && boundaries[i] != 0 &&
                             ranges.back().by_first == range.by_first &&
                             ranges.back().by_second == range.by_second;
      if (continues) {
        ranges.back().last = range.last;
      } else {
        ranges.push_back(range);
      }
    }
  }
  return ranges;
}

}  // namespace shardcheck
