// WeightModel: what the FP8 weight of a parameter must be, version after version, out of its initial value
// and of the masters that the optimizer left: core/recipe on the whole weight, on one rank, where a training
// job quantises pieces (F40, F47, F54). Next: weight_checker.h compares a backend with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recipe/delayed.h"
#include "core/recipe/quantize.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// One version of a weight.
struct WeightVersion {
  std::vector<float> source;          ///< what was quantised: the initial value, or rounded masters
  recipe::QuantizedCopy row, column;  ///< as the recipe stores them
  const recipe::QuantizedCopy& copy(recipe::Direction direction) const {
    return direction == recipe::Direction::row ? row : column;
  }
};

class WeightModel {
 public:
  WeightModel(const Scenario& scenario, std::int32_t parameter);

  /// E1 and E2: version 0 out of the initial value, in the model's type.
  void create(std::span<const float> initial);
  /// The masters of this version; after creation the initial value, or the dequantised codes.
  const std::vector<float>& masters() const { return masters_; }
  /// E4 and E5: the next version, out of the masters.
  void step(std::span<const float> masters);

  std::int32_t version() const { return version_; }
  const WeightVersion& now() const { return now_; }
  /// The version before; the same as now at version 0.
  const WeightVersion& before() const { return version_ == 0 ? now_ : before_; }
  /// This version as it would be without the rounding to the model's type (F47).
  WeightVersion unrounded() const;
  /// History and scale that the version after this one will be cast by (F54).
  const recipe::DelayedScaling& scaling() const { return scaling_; }
  const recipe::Recipe& recipe() const { return recipe_; }

 private:
  WeightVersion quantised(std::vector<float> source) const;
  void step_scaling();

  const Scenario& scenario_;
  std::int32_t parameter_;
  const recipe::Recipe& recipe_;
  recipe::DelayedOptions options_;
  recipe::DelayedScaling scaling_;
  float used_scale_ = 1;
  std::int32_t version_ = 0;
  WeightVersion now_, before_;
  std::vector<float> masters_;
};

/// Every value rounded to nearest even in the type: f32, bf16 or f16.
std::vector<float> rounded_values(DType type, std::span<const float> values);

}  // namespace shardcheck
