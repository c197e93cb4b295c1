// What wrong bytes of an FP8 weight are: those of another version, of another direction, of unrounded
// masters, of a lost amax. weight_checker.h reads them; here they are compared with the versions of a
// WeightModel and named.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/contract/finding.h"
#include "sim/oracle/weight_model.h"

namespace shardcheck {

/// Bytes that were read of a copy: codes from `first` on, in their stored order, or the plane of scales.
struct ReadCopy {
  recipe::Direction direction = recipe::Direction::row;
  bool is_scales = false;
  std::int64_t first = 0;
  std::span<const std::byte> bytes;
};

struct WeightContext {
  bool is_reloaded = false;                       ///< this version came out of a file
  bool is_skipped_step = false;                   ///< nothing may have changed in this step
  std::span<const std::vector<std::byte>> peers;  ///< the same scales on every rank of the weight
};

/// True when they are those of the present version.
bool is_right(const WeightModel& model, const ReadCopy& read);

/// Fills clause, sentence, element and values of a finding about bytes that are not right.
void explain(const WeightModel& model, const ReadCopy& read, const WeightContext& context, Finding& finding);

}  // namespace shardcheck
