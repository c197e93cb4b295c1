// RecentViews: which views have been met lately, by a guess that is never wrong when it says yes. Ops of a
// plan name the same places again and again, so that who collects borders of views need not sort each of
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/plan/op.h"

namespace shardcheck {

class RecentViews {
 public:
  RecentViews() { views_.fill(View{BufferId{-1}, 0, 0}); }

  /// True when the view has been met, unless another one took its place since then.
  bool meets_again(const View& view) {
    const auto mixed = static_cast<std::uint64_t>(view.offset) * 0x9E3779B97F4A7C15u +
                       static_cast<std::uint64_t>(view.numel) * 0xC2B2AE3D27D4EB4Fu +
                       static_cast<std::uint64_t>(view.buffer.value) * 0x165667B19E3779F9u;
    View& place = views_[static_cast<std::size_t>(mixed >> 56)];
    if (place == view) return true;
    place = view;
    return false;
  }

 private:
  std::array<View, 256> views_;
};

}  // namespace shardcheck
