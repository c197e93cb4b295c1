// Shadow: a backend that is two, a reference and a candidate, and knows the first op whose results differ.
// The backend is made by backends/shadow; this file is what others see of it: properties ask for the report,
// the command prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

/// What went into one element, as it was before the op.
struct OperandExcerpt {
  std::string name;  ///< "addend", "dy, row 3", "rank 2"
  std::vector<Sighting> values;
  std::int64_t numel = 0;  ///< as many as there are; the excerpt has the first of them
};

/// One op that left something else on the candidate than on the reference.
struct ShadowDifference {
  OpIndex op{-1};
  std::string op_text;               ///< the op in words
  std::string why;                   ///< the part that it plays in the contract
  std::string reference, candidate;  ///< their names
  std::string buffer;
  Rank rank{-1};                        ///< the first in the op's list whose view differs
  View view;                            ///< that the op wrote there
  std::int64_t element = -1;            ///< the first of the view that differs
  Sighting expected, actual;            ///< the reference's, the candidate's
  std::optional<std::int64_t> ulps;     ///< nothing where one is NaN
  std::optional<double> bound;          ///< the most that the two may differ by; nothing: by no bit
  std::optional<double> share;          ///< |expected - actual| / bound
  std::int64_t differing_elements = 0;  ///< on all ranks of the op
  std::int64_t written_elements = 0;    ///< by the op, on all its ranks
  bool truncated = false;               ///< too large to count all: there may be more differing elements
  std::vector<OperandExcerpt> operands;
};

struct ShadowReport {
  std::vector<ShadowDifference> differences;  ///< in the order of the plan
  std::int64_t ops_compared = 0, elements_compared = 0;
  std::int64_t ops_bounded = 0;   ///< of those, compared within a bound and not bit for bit
  std::int64_t ops_unjudged = 0;  ///< not compared: of an arithmetic that nobody declares and no bound covers
  std::int64_t resyncs = 0;       ///< views that were given the reference's bytes
  double budget_used = 0;         ///< largest share of a bound that held
  OpIndex budget_op{-1};          ///< where that was
};

class Shadow : public Backend {
 public:
  virtual Backend& reference() = 0;
  virtual Backend& candidate() = 0;

  /// What was seen since the last call; comparing begins anew.
  virtual ShadowReport take() = 0;
};

/// The machine that a law of single ops is asked of: the candidate of a shadow, else the backend itself.
Backend& candidate_of(Backend& backend);

/// The report that a person reads: op, reason, place, both values, operands; several lines.
std::string to_text(const ShadowDifference& difference);

/// "1 ulp apart", "zeros of different sign", "0.3 apart, 1.7 times the bound", "one is NaN".
std::string distance_text(const ShadowDifference& difference);

}  // namespace shardcheck
