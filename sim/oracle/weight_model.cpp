#include "sim/oracle/weight_model.h"

#include <utility>

#include "core/numerics/narrow.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {

using recipe::Direction;

std::vector<float> rounded_values(DType type, std::span<const float> values) {
  std::vector<float> rounded(values.begin(), values.end());
  if (type == DType::bf16) {
    for (float& value : rounded) value = bf16_to_f32(f32_to_bf16(value));
  } else if (type == DType::f16) {
    for (float& value : rounded) value = f16_to_f32(f32_to_f16(value));
  }
  return rounded;
}

WeightModel::WeightModel(const Scenario& scenario, std::int32_t parameter)
    : scenario_(scenario), parameter_(parameter), recipe_(*recipe::find_recipe(scenario.fp8->recipe)) {
  options_ = {.history_length = scenario.fp8->history, .largest = recipe::largest_of(recipe_.forward)};
  scaling_ = recipe::first_step(options_);
}

WeightVersion WeightModel::quantised(std::vector<float> source) const {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(parameter_)];
  WeightVersion made;
  const recipe::Matrix matrix{{p.rows(), p.columns()}, source};
  recipe::Wanted wanted{.elements = recipe_.forward, .given_scale = used_scale_};
  made.row = recipe::quantize(recipe_, wanted, matrix);
  if (recipe::is_derivable(recipe_.second_copy)) {
    made.column = recipe::second_copy_of(recipe_, made.row);
  } else {
    wanted.direction = Direction::column;
    made.column = recipe::quantize(recipe_, wanted, matrix);
  }
  made.source = std::move(source);
  return made;
}

void WeightModel::create(std::span<const float> initial) {
  now_ = quantised({initial.begin(), initial.end()});
  masters_ =
      scenario_.fp8->masters == Masters::kept_init ? now_.source : recipe::dequantize(recipe_, now_.row);
  step_scaling();
}

void WeightModel::step(std::span<const float> masters) {
  ++version_;
  before_ = std::move(now_);
  used_scale_ = scaling_.scale;
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(parameter_)];
  now_ = quantised(rounded_values(p.dtype, masters));
  masters_.assign(masters.begin(), masters.end());
  step_scaling();
}

WeightVersion WeightModel::unrounded() const {
  return version_ == 0 ? now_ : quantised(masters_);
}

/// The amax of this version decides the scale of the next one (fp8 3.1).
void WeightModel::step_scaling() {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(parameter_)];
  const auto amaxes = recipe::amaxes_of(recipe_, Direction::row, {{p.rows(), p.columns()}, now_.source});
  recipe::close_step(options_, scaling_, recipe::tensor_amax_of(recipe_, amaxes));
}

}  // namespace shardcheck
