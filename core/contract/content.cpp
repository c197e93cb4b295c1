#include "core/contract/content.h"

#include <algorithm>

#include "core/assert.h"
#include "core/plan/recent_views.h"

namespace shardcheck {

std::string_view name_of(Content content) {
  constexpr std::string_view names[] = {"no storage (X)",    "undefined (UD)",    "zero (Z)",
                                        "contributions (A)", "in flight (L)",     "reduced (V)",
                                        "stale (S)",         "staged weights (S)"};
  return names[static_cast<int>(content)];
}

namespace {

bool is_gradient(BufferRole role) {
  return role >= BufferRole::main_grad && role <= BufferRole::placeholder;
}

}  // namespace

ContentState::ContentState(const Plan& plan) : clocks_(plan) {
  // Sorted as one number each: the buffer above, the offset below.
  constexpr int kOffsetBits = 44;
  std::vector<std::uint64_t> borders;
  const auto border_of = [](BufferId buffer, std::int64_t offset) {
    SC_ASSERT(offset >> kOffsetBits == 0, "an offset beyond 2^44");
    return static_cast<std::uint64_t>(buffer.value) << kOffsetBits | static_cast<std::uint64_t>(offset);
  };
  const auto buffer_of = [](std::uint64_t border) {
    return static_cast<std::int32_t>(border >> kOffsetBits);
  };
  const auto offset_of = [](std::uint64_t border) {
    return static_cast<std::int64_t>(border & ((std::uint64_t{1} << kOffsetBits) - 1));
  };
  borders.reserve(plan.ops.size() * 3);
  RecentViews recent;
  for (const View& view : plan.view_arena) {
    if (!is_gradient(plan.buffer(view.buffer).role) || recent.meets_again(view)) continue;
    borders.push_back(border_of(view.buffer, view.offset));
    borders.push_back(border_of(view.buffer, view.offset + view.numel));
  }
  first_.assign(plan.buffers.size(), -1);
  last_.assign(plan.buffers.size(), -1);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (!is_gradient(plan.buffers[b].role)) continue;
    borders.push_back(border_of(BufferId{static_cast<std::int32_t>(b)}, 0));
    borders.push_back(border_of(BufferId{static_cast<std::int32_t>(b)}, plan.buffers[b].numel));
  }
  const auto sort_unique = [&] {
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  };
  sort_unique();
  // A staging copy carries classes along, so both of its sides are cut alike.
  for (const Op& op : plan.ops) {
    if (op.why.purpose != Purpose::stage || op.operands < 2) continue;
    const View from = plan.operand(op, 0)[0], to = plan.operand(op, 1)[0];
    const std::size_t known = borders.size();
    for (std::size_t i = 0; i < known; ++i) {
      const std::int32_t buffer = buffer_of(borders[i]);
      const std::int64_t offset = offset_of(borders[i]);
      const auto mirror = [&](View a, View b) {
        const bool inside = buffer == a.buffer.value && offset >= a.offset && offset <= a.offset + a.numel;
        if (inside) borders.push_back(border_of(b.buffer, offset - a.offset + b.offset));
      };
      mirror(from, to);
      mirror(to, from);
    }
    sort_unique();
  }
  offsets_.reserve(borders.size());
  for (const std::uint64_t border : borders) {
    const auto buffer = static_cast<std::size_t>(buffer_of(border));
    const auto atom = static_cast<std::int32_t>(offsets_.size());
    if (first_[buffer] < 0) first_[buffer] = atom;
    last_[buffer] = atom;
    offsets_.push_back(offset_of(border));
  }
  count_ = static_cast<std::int32_t>(offsets_.size());
  atoms_.resize(static_cast<std::size_t>(count_) * static_cast<std::size_t>(plan.ranks));
}

std::pair<std::int32_t, std::int32_t> ContentState::atoms(View view) const {
  const auto first = first_[static_cast<std::size_t>(view.buffer.value)];
  SC_ASSERT(first >= 0, "a view of a buffer that the monitor does not track");
  if (view.numel == 0) return {first, first};
  const auto end_of_buffer = offsets_.begin() + last_[static_cast<std::size_t>(view.buffer.value)];
  const auto begin = std::lower_bound(offsets_.begin() + first, end_of_buffer, view.offset);
  SC_ASSERT(*begin == view.offset && view.offset + view.numel <= *end_of_buffer,
            "a view off the atom borders");
  auto end = begin;
  while (*end < view.offset + view.numel) ++end;
  return {static_cast<std::int32_t>(begin - offsets_.begin()),
          static_cast<std::int32_t>(end - offsets_.begin())};
}

}  // namespace shardcheck
