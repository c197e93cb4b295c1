#include "core/contract/versions.h"

#include <algorithm>

#include "core/assert.h"

namespace shardcheck {
namespace {

/// True when `b` only goes on with what `a` is.
bool continues(const ByteRange& a, const ByteRange& b) {
  const bool consecutive = a.element < 0 ? b.element < 0 : b.element == a.element + a.end - a.begin;
  return a.end == b.begin && consecutive && a.stamp == b.stamp && a.written == b.written && a.read == b.read;
}

}  // namespace

std::string_view name_of(Held held) {
  constexpr std::string_view names[] = {"nothing", "numbers", "values",         "amaxes",
                                        "scales",  "codes",   "delayed scaling"};
  return names[static_cast<int>(held)];
}

/// The index of the range that begins at `at`, after cutting one there.
std::size_t ByteRanges::border(std::int64_t at) {
  const auto found = std::ranges::lower_bound(ranges_, at, {}, &ByteRange::begin);
  const auto index = static_cast<std::size_t>(found - ranges_.begin());
  if (found != ranges_.end() && found->begin == at) return index;
  if (index == 0 || ranges_[index - 1].end <= at) return index;
  ByteRange tail = ranges_[index - 1];
  tail.element = tail.element_at(at);
  tail.begin = at;
  ranges_[index - 1].end = at;
  ranges_.insert(found, tail);
  return index;
}

std::span<ByteRange> ByteRanges::cut(std::int64_t begin, std::int64_t end) {
  if (begin == end) return {};
  SC_ASSERT(!ranges_.empty() && begin >= 0 && end <= ranges_.back().end, "a view outside its buffer");
  const std::size_t first = border(begin), last = border(end);
  return {ranges_.data() + first, last - first};
}

void ByteRanges::assign(std::span<const ByteRange> ranges) {
  if (ranges.empty()) return;
  const std::size_t first = border(ranges.front().begin), last = border(ranges.back().end);
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges) {
    if (!joined.empty() && continues(joined.back(), range))
      joined.back().end = range.end;
    else
      joined.push_back(range);
  }
  const auto at = ranges_.begin() + static_cast<std::ptrdiff_t>(first);
  ranges_.insert(ranges_.erase(at, ranges_.begin() + static_cast<std::ptrdiff_t>(last)), joined.begin(),
                 joined.end());
}

VersionState::VersionState(const Plan& plan) : ranks_(plan.ranks) {
  for (const Buffer& buffer : plan.buffers) {
    const bool is_tracked = buffer.role >= BufferRole::master && buffer.role <= BufferRole::amaxes;
    is_tracked_.push_back(is_tracked);
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
      buffers_.emplace_back(is_tracked ? buffer.numel : 0);
  }
}

std::int32_t VersionTable::first(std::int32_t parameter, std::int32_t tensor) {
  const auto [found, is_new] =
      first_.try_emplace({parameter, tensor}, static_cast<std::int32_t>(rows_.size()));
  if (is_new) rows_.push_back({.parameter = parameter, .tensor = tensor});
  return found->second;
}

std::int32_t VersionTable::next(std::int32_t version, std::int32_t step, OpIndex op) {
  const auto [found, is_new] = next_.try_emplace({version, step}, static_cast<std::int32_t>(rows_.size()));
  if (is_new) {
    Version row = (*this)[version];
    row.before = version;
    row.steps += 1;
    row.step = step;
    row.made_by = op;
    rows_.push_back(row);
  }
  return found->second;
}

bool VersionTable::is_older(std::int32_t version, std::int32_t than) const {
  for (std::int32_t v = (*this)[than].before; v >= 0; v = (*this)[v].before) {
    if (v == version) return true;
  }
  return false;
}

}  // namespace shardcheck
