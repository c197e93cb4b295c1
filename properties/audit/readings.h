// Readings: what every rank reads of every gradient, contribution by contribution (wgrad 10.1). The judge
// says only what is wrong; this says all of it, for the page. Next: tools/shardcheck/audit/page.h.
#pragma once

#include <string>
#include <vector>

#include "properties/audit/trace.h"
#include "sim/scenario/data.h"

namespace shardcheck {

/// What a rank owns of a gradient.
struct Reader {
  std::int32_t rank = 0;
  bool is_present = false;  ///< false: the framework has no gradient there
  std::int64_t first = 0, last = 0;
  std::int64_t undecoded = 0;  ///< elements that are no sum of contributions
};

/// How often a contribution is in what the readers own, over all elements that can show it.
struct ReadContribution {
  ContributionKey key;
  std::int32_t expected = 0;  ///< 1, or 0 where it must not be: another step, a silent weight, no tokens
  /// By reader: "1", "0 to 2" where elements differ, empty where no element of the reader can show it.
  std::vector<std::string> times;
};

/// A gradient of one step as all ranks read it.
struct GradientReading {
  std::int32_t step = 0, parameter = 0;
  std::vector<Reader> readers;                  ///< by rank; ranks whose trace ends before it are left out
  std::vector<ReadContribution> contributions;  ///< of this step, and of others where somebody reads them
};

/// By step, then parameter; frozen and unused parameters have no contributions. The trace must outlive the
/// call only.
std::vector<GradientReading> readings_of(const AuditTrace& trace);

}  // namespace shardcheck
