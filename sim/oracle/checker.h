// ValueChecker: compares what the consumer of a step reads with the oracle, element by element, and turns the
// first difference of a parameter into a finding with its provenance decoded.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/oracle/oracle.h"
#include "sim/planner/planned.h"

namespace shardcheck {

class ValueChecker {
 public:
  ValueChecker(const Scenario& scenario, const ScenarioData& data, const Planned& planned);

  /// Reads every owned range from the backend and compares it. Call when the step's gradients are finished.
  void check(std::int32_t step, Backend& backend);

  /// Products with FP8 weights count in the fingerprint: check() reads those of its step, this one those that
  /// an evaluation left after the last step.
  void read_outputs(Backend& backend);

  /// A fingerprint of all bits read so far, for runs that must agree bit for bit.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Largest share of a bound that a bounded comparison has used, 0 when all were exact.
  double budget_used() const { return budget_used_; }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::int32_t first_of_sum(std::int32_t parameter, Rank rank) const;
  void check_rows(std::int32_t parameter, std::int32_t step, Rows rows, Backend& backend);
  void compare(const Placement& owned, std::int32_t step, std::int64_t first_element,
               const Expected& expected, Backend& backend);
  /// The first difference of an owned range; `ratio` is that of all its elements, 0 when they have none in
  /// common.
  struct Difference {
    std::int64_t element = 0;
    double expected = 0, actual = 0, ratio = 0;
    bool is_all_zero = false;  ///< of what was read
    std::uint32_t bits = 0;
  };
  void report(const Placement& owned, std::int32_t step, const Difference& difference);
  bool differs(std::int32_t parameter, double expected, double magnitude, double actual);

  const Scenario& scenario_;
  const ScenarioData& data_;
  const Planned& planned_;
  Oracle oracle_;
  std::vector<std::vector<Placement>> owned_;  // a parameter
  std::vector<std::byte> bytes_;
  std::vector<float> values_;
  std::vector<Finding> findings_;
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
  double budget_used_ = 0;
};

}  // namespace shardcheck
