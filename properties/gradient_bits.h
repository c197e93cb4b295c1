// GradientBits: what the consumers of a run read, element by element, so that two runs, or the replicas of
// one, can be compared bit for bit. Runs may have other ranks and other layouts: an element is named by its
// parameter. Next: determinism.h, which asks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/planner/planned.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

class GradientBits {
 public:
  /// Both must outlive it.
  GradientBits(const Scenario& scenario, const Planned& planned) : scenario_(scenario), planned_(planned) {}

  /// Reads all that ranks of this process own. Call when the step's gradients are finished.
  void read(std::int32_t step, Backend& backend);

  /// A finding of W39 for every parameter of which two ranks of one reduction domain have read other bits.
  const std::vector<Finding>& of_replicas() const { return of_replicas_; }

  /// A finding of W39 for every parameter that `other` has read with other bits, at its first element;
  /// `sentence` says what `other` is. What one of the two has not read is equal.
  std::vector<Finding> differences(const GradientBits& other, std::string_view sentence) const;

 private:
  struct Element {
    std::uint32_t code = 0;
    std::int32_t rank = -1;  ///< that has read it first; -1: none
  };
  /// Step, parameter, and which of the sums that share its name.
  using Key = std::array<std::int32_t, 3>;

  std::int32_t sum_of(std::int32_t parameter, Rank rank) const;
  Finding finding_of(const Key& key, std::int64_t element, Element expected, Element actual) const;

  const Scenario& scenario_;
  const Planned& planned_;
  std::map<Key, std::vector<Element>> elements_;
  std::vector<Finding> of_replicas_;
};

}  // namespace shardcheck
