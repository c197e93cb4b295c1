// The page of `shardcheck layout --html`: one self-contained file that draws the buffers rank by rank to
// scale. Its data is what core/layout computed, segment by segment; the script only draws. Next: sections.h.
#pragma once

#include <string>

#include "tools/shardcheck/layout/sections.h"

namespace shardcheck {

/// Ranks of a bucket and kinds of buckets that a page holds; larger layouts say on the page what is left out.
inline constexpr std::int32_t kMostRanksOnPage = 2048;
inline constexpr std::size_t kMostKindsOnPage = 16;

/// The whole page. `shape`: the blocks whose cuts are marked.
std::string html_page(const Answered& answered, layout::BlockShape shape);

/// The JSON that the page draws.
std::string page_data(const Answered& answered, layout::BlockShape shape);

}  // namespace shardcheck
