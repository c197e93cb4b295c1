// The numbers of a trace against the oracle: every gradient that a rank owns, and every parameter after the
// optimizer. A wrong one becomes a finding whose provenance is decoded over all its elements. Next:
// agreement.h, what ranks must have in common.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/audit/trace.h"
#include "sim/oracle/oracle.h"

namespace shardcheck {

/// A gradient that is not what the contract says.
struct WrongGradient {
  Finding finding;
  std::vector<std::string>
      signatures;  ///< patterns that the numbers show (properties/diagnosis/signatures.h)
};

class ValueJudge {
 public:
  /// The trace must outlive the judge.
  explicit ValueJudge(const AuditTrace& trace);

  /// One for each gradient of a rank, parameter and step that is wrong; the clause is the one that the digits
  /// name: W2, W3, W6, W7, W8, W10, W24 or W1.
  std::vector<WrongGradient> gradients() const;

  /// W32 where the gradients up to that step were right and the parameter is not -rate times their sum, W10
  /// where a frozen parameter changed. Exact in provenance data with a power-of-two rate.
  std::vector<Finding> parameters() const;

  const Oracle& oracle() const { return oracle_; }
  const ScenarioData& data() const { return data_; }

 private:
  struct Difference;
  std::vector<double> wanted(const TracedTensor& tensor, std::int32_t rank, std::int32_t step) const;
  bool differs(const TracedTensor& tensor, std::int32_t rank, std::size_t at, double want) const;
  std::optional<WrongGradient> judge(const TracedTensor& tensor, std::int32_t rank) const;
  /// The rank has no gradient of a step up to the parameter's, though there were contributions.
  bool lacks_gradient(const RankTrace& rank, const TracedTensor& parameter) const;
  void classify(Finding& finding, const TracedTensor& tensor, const Difference& difference) const;
  Difference difference_of(const TracedTensor& tensor, std::int32_t rank) const;

  const AuditTrace& trace_;
  ScenarioData data_;
  Oracle oracle_;
};

/// True when no rank of the reduction domain uses the parameter in the step.
bool is_silent_step(const Scenario& scenario, std::int32_t parameter, std::int32_t step);

/// True when some microbatch of the step has no use of the parameter on some rank.
bool has_silent_microbatch(const Scenario& scenario, std::int32_t parameter, std::int32_t step);

/// A finding about a tensor: rank, step, parameter and its name are filled.
Finding finding_about(const AuditTrace& trace, const TracedTensor& tensor, std::int32_t rank);

}  // namespace shardcheck
