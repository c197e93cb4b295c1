// RapidCheck, and the only place for it in this room: it draws the cases of one stretch of a search, and
// walks the shrinks of one that fails. Next: properties/runner.h runs many stretches on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "properties/generate/draw.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// A stretch of cases. The functions run on the calling thread; what they throw comes out of the search.
struct Search {
  std::uint64_t seed = 0;
  std::int32_t cases = 0;
  std::function<Scenario(Draw&)> draw;
  std::function<bool(const Scenario&)> holds;
  std::function<bool()> is_over;  ///< asked before every case: the rest is not run
};

struct SearchResult {
  std::int64_t cases = 0;           ///< run, the failing one included
  std::optional<Scenario> failing;  ///< as drawn
  std::uint64_t end_draw = 0;       ///< one more draw after each case, mixed: tells two runs of a seed apart
};

/// Runs the cases until the first that fails.
SearchResult search(const Search& search);

struct Smallest {
  Scenario scenario;
  std::int64_t tries = 0;  ///< scenarios examined on the way
};

/// Follows shrinks() from a failing scenario for as long as they fail. `is_over` ends it early.
Smallest smallest_failing(const Scenario& failing, const std::function<bool(const Scenario&)>& holds,
                          const std::function<bool()>& is_over);

}  // namespace shardcheck
