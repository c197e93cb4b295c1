// What `shardcheck layout --json` writes: the answer for scripts, with exact numbers and every list in full
// where the terminal folds or cuts it. Next: sections.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/shardcheck/layout/sections.h"

namespace shardcheck {

/// The parts that were asked for.
struct LayoutResult {
  std::optional<Rank> rank;
  bool wants_why = false;
  std::optional<layout::BlockShape> blocks;
  std::vector<StraddleRow> straddles;
  std::optional<Answered> other;
  std::optional<layout::TrafficReport> traffic;
  std::vector<Price> prices;
};

/// One JSON object and a line end.
std::string layout_json(const Answered& answered, const LayoutResult& result);

}  // namespace shardcheck
