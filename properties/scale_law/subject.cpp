#include "properties/scale_law/subject.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardcheck {

ScaleSubject::ScaleSubject(const ScaleCase& c, const ScaleMachine& machine)
    : c(c),
      machine(machine),
      recipe(recipe_of(c)),
      elements(elements_of(c)),
      format(format_of(elements)),
      padded(matrix_of(c)),
      matrix(padded.matrix()),
      blocks(recipe::blocks_of(recipe, recipe::Direction::row, matrix.extent)) {}

std::vector<float> ScaleSubject::exact_amaxes() const {
  std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()));
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    float& amax = amaxes[block_of(i)];
    const float magnitude = std::abs(matrix.values[i]);
    if (magnitude > amax) amax = magnitude;
  }
  return amaxes;
}

bool is_same_number(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool is_same_list(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, is_same_number);
}

}  // namespace shardcheck
