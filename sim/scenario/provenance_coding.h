// ProvenanceCoding: how the contributions to a parameter's gradient are told apart by their values, so that a
// wrong sum reads as a sentence (architecture 3, wgrad 10.1).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Contribution number i carries 4^(i / lanes) in the elements of lane i % lanes. A lane is a column of the
/// parameter, or a row of each of its groups. Multiplicities 0 to 3 can be read back.
struct ProvenanceCoding {
  std::int32_t digits = 0;    ///< base-4 digits that an element can hold exactly
  std::int32_t lanes = 0;     ///< lanes in use, at least 1
  bool along_columns = true;  ///< lane = column, else lane = row of a group
  bool operator==(const ProvenanceCoding&) const = default;
};

/// How often `parameter` is used in a microbatch, and how many of those uses return a gradient through
/// autograd in the parameter's type. A fused use returns one under R7, which has no fusion.
/// Uses of a copy on another stage count, as both copies are summed.
struct UseCounts {
  std::int64_t all = 0, returned = 0;
  void add(const ScenarioUse& use, WriteMode mode) {
    ++all;
    returned += is_unfused(use.producer, mode);
  }
};
UseCounts use_counts(const Scenario& scenario, std::int32_t parameter);

/// Contributions to the parameter's gradient: steps x reduction domain x microbatches x uses. The digits of
/// different steps differ too, so that a value that survives a step shows.
std::int64_t provenance_contributions(const Scenario& scenario, std::int32_t parameter, UseCounts uses);

/// Base-4 digits that survive every type on the way: floor(p / 2) for the smallest significand p among
/// main_grad, comm and, where autograd sums more than one gradient, the parameter's type, because the sum of
/// all digits at multiplicity 3 is 4^digits - 1 < 2^p (wgrad 8.9). At most 12, and at most 8 for f16, whose
/// largest power of four, the largest operand, is 4^7 < 65504 < 4^8.
std::int32_t provenance_digits(const Scenario& scenario, std::int32_t parameter, UseCounts uses);

/// The coding, or nothing when the parameter has neither enough columns nor enough rows (in particular when
/// it has no elements and needs none). The mesh of the scenario must be valid.
std::optional<ProvenanceCoding> provenance_coding(const Scenario& scenario, std::int32_t parameter);

/// The same, with the uses counted by the caller.
std::optional<ProvenanceCoding> provenance_coding(const Scenario& scenario, std::int32_t parameter,
                                                  UseCounts uses);

}  // namespace shardcheck
