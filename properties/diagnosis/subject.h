// Subject: what a diagnosis is about. A finding names a rank, a parameter and an element; the subject adds
// the plan behind it, the same job done right (the reference), and who reads the element. Next:
// first_wrong.h.
#pragma once

#include <utility>
#include <vector>

#include "core/contract/finding.h"
#include "properties/diagnosis/algebra.h"
#include "sim/oracle/oracle.h"

namespace shardcheck {

/// The same job by the reference protocol, without its fault: what the plan should have done. Today's write
/// modes become R5, zeroing is on.
Scenario reference_of(const Scenario& scenario);

/// The plan of the scenario, rewritten by its fault.
Planned rewritten_plan(const Scenario& scenario, Poison poison);

struct Subject {
  /// The finding must name a parameter and an element of it. `of` must outlive the subject.
  Subject(const Scenario& of, const Finding& finding, Poison poison);
  Subject(const Subject&) = delete;

  const Scenario& scenario;
  Planned planned;
  Planned reference;
  ScenarioData data;
  Oracle oracle;
  Element element;
  std::int32_t step = 0;  ///< whose gradient is wrong
  Rank reader{-1};        ///< owns the element: the finding's rank, or the one that its value is reduced to
  Rank rank{-1};          ///< of the finding
};

/// What each owner of the element reads at the end of a step, by the plan alone.
using ByOwner = std::vector<std::pair<Rank, Combination>>;
ByOwner finished(const Subject& subject, const Planned& planned, std::int32_t step);
/// The reader's.
Combination finished_for_reader(const Subject& subject, const Planned& planned, std::int32_t step);

/// Equal values; NaN equals NaN here, because two runs of one plan are compared.
bool same_number(double a, double b);

/// True when finding names a parameter's element that a subject can be made of.
bool names_element(const Finding& finding, const Scenario& scenario);

}  // namespace shardcheck
