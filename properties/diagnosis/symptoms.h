// Symptoms: the numbers of a finding, arranged so that a signature can be read off them: the weight of every
// contribution beside the right one, the value that every owner reads, and the reader's part of the parameter
// beside what it should be. Next: signatures.h.
#pragma once

#include <optional>
#include <vector>

#include "properties/diagnosis/history.h"

namespace shardcheck {

/// A contribution that is, or should be, in the element.
struct ContributionWeight {
  ContributionKey key;
  double actual = 0, right = 0;
};

struct Symptoms {
  const Subject& subject;
  double actual = 0, expected = 0;  ///< of the element, for the reader
  /// By the plan where the number confirms it, else by the number's digits; empty where neither speaks.
  std::vector<ContributionWeight> weights;
  double undefined = 0;  ///< weight of undefined bytes
  std::vector<std::pair<Rank, double>> owners;
  std::vector<double> read, wanted;   ///< the reader's part of the parameter; empty when large
  std::vector<double> wanted_before;  ///< in the step before; empty in the first

  /// actual / right of every contribution of the step, when it is one number; weights of other steps must be
  /// 0.
  std::optional<double> common_factor() const;
  /// The weights of the step's microbatch m relative to the right ones, when equal on all ranks and uses.
  std::optional<double> factor_of_microbatch(std::int32_t microbatch) const;
  /// read[i] / wanted[i] where it is one finite number for all i with wanted[i] != 0, and 0 stays 0.
  std::optional<double> common_ratio() const;
};

Symptoms symptoms_of(const Subject& subject, const Observation& observation, const Combination& actual,
                     const Combination& right);

}  // namespace shardcheck
