// The algebra of one element: the training step is linear in its contributions (wgrad 10.1), so what an
// element's bytes hold is a weighted sum of contributions, and of undefined bytes. follow() carries that sum
// through a plan without running it, however large the parameter is, together with the number that ideal
// arithmetic gives. It is the reference run of a diagnosis: a backend that shows another number is wrong
// there. Next: subject.h, first_wrong.h.
#pragma once

#include <functional>
#include <vector>

#include "properties/diagnosis/places.h"
#include "sim/planner/planned.h"
#include "sim/scenario/data.h"

namespace shardcheck {

/// A contribution, by its position in ScenarioData, and its weight in a sum.
struct Term {
  std::int64_t contribution = 0;
  double weight = 0;
  bool operator==(const Term&) const = default;
};

/// What the bytes of an element hold.
struct Combination {
  std::vector<Term> terms;  ///< ascending by contribution, no weight is zero
  double constant = 0;      ///< from fills with a value
  double undefined = 0;     ///< weight of bytes that nobody wrote
  bool is_known = true;     ///< false: bytes of another element or of an unknown op went in
  double value = 0;         ///< by ideal arithmetic; not part of the comparison

  double weight_of(std::int64_t contribution) const;
  /// The same contributions with the same weights.
  bool same_sum(const Combination& other) const;
};

/// An op wrote the element's bytes on a rank.
struct ElementWrite {
  OpIndex op;
  Rank rank;
  View place;                 ///< one element
  const Combination& before;  ///< in these bytes
  const Combination& after;
};

/// Calls `visit` for every write of the element's bytes on any rank, in the order of the plan. All ranks of
/// the element's expert-parallel coordinate hold the same element; an expert's other coordinates are
/// followed too, each by itself.
void follow(const Planned& planned, const Scenario& scenario, const ScenarioData& data, Element element,
            const std::function<void(const ElementWrite&)>& visit);

/// The contribution's value at the element.
double contribution_at(const Scenario& scenario, const ScenarioData& data, const ContributionKey& key,
                       std::int64_t element);

}  // namespace shardcheck
