// Delayed scaling: the scale of a step is a function of earlier amaxes (fp8 3.1). A value with its history,
// one a tensor; no clock, no group: who reduces the amax does so before close(). Law F54.
#pragma once

#include <cstdint>
#include <vector>

namespace shardcheck::recipe {

/// Which amax of the window decides.
enum class AmaxChoice : std::uint8_t { max, most_recent };

/// A step whose reduced amax is 0: the fused path of Transformer Engine leaves everything as it is, the other
/// one rolls and decides again.
enum class ZeroStep : std::uint8_t { keep, roll };

struct DelayedOptions {
  std::int64_t history_length = 1024;  ///< H, at least 1
  AmaxChoice choice = AmaxChoice::max;
  ZeroStep zero_step = ZeroStep::keep;
  int margin = 0;       ///< the target is fmax * 2^-margin, exactly
  float largest = 448;  ///< fmax
};

struct DelayedScaling {
  float scale = 1, scale_inverse = 1;  ///< of the next use
  std::vector<float> history;          ///< slot 0 is the step that is open; [1] the oldest, then ascending
};

/// Scale 1 and a history of zeros.
DelayedScaling first_step(const DelayedOptions& options);

/// Another amax of the open step, such as a microbatch's: the step keeps the largest. NaN is dropped.
void push_amax(DelayedScaling& state, float amax);

/// Ends a step with the amax of its group, the largest slot 0 of all its ranks. Returns the amax that was
/// chosen, 0 where the step is not counted (ZeroStep::keep). Where it is 0, infinite or NaN
/// the scale stays. `max` skips a NaN, `most_recent` meets it. Exactness class: exact. Source: fp8 3.1.
float close_step(const DelayedOptions& options, DelayedScaling& state, float reduced_amax);

}  // namespace shardcheck::recipe
