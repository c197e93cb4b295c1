#include "properties/scale_law/subject.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardcheck {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kCorners[] = {0.0f,     0x1p-149f, 0x1p-127f, 0x1p-126f, 1e-38f,
                              1.2e-36f, 1e-12f,    1e-4f,     1.0f,      7.0f,
                              12.0f,    300.0f,    449.0f,    448.0f,    std::numeric_limits<float>::max()};

AskedScales asked_of(const ScaleSubject& s) {
  AskedScales q;
  q.amaxes = s.exact_amaxes();
  constexpr std::size_t kMostBlocks = 12;
  if (q.amaxes.size() > kMostBlocks) q.amaxes.resize(kMostBlocks);
  q.amaxes.insert(q.amaxes.end(), std::begin(kCorners), std::end(kCorners));
  const int k = s.c.code - 127;
  for (const float number : {1.0f, 7.0f, 448.0f, 1.75f, std::nextafter(1.75f, kInfinity), s.c.scale}) {
    const float moved = std::ldexp(number, k);
    if (std::isfinite(moved)) q.amaxes.push_back(moved);
  }
  q.tensor_amax = std::ranges::max(q.amaxes);
  // Two levels: a tensor's amax is not less than its blocks', and rarely so large.
  if (s.recipe.formula == recipe::ScaleFormula::two_level) {
    q.tensor_amax = std::ldexp(std::abs(s.c.scale), 4);
    std::erase_if(q.amaxes, [&](float amax) { return amax > q.tensor_amax; });
  } else {
    q.amaxes.push_back(kInfinity);
    q.amaxes.push_back(std::numeric_limits<float>::quiet_NaN());
  }
  q.scales = s.machine.scales(s.recipe, s.elements,
                              {.amaxes = q.amaxes, .tensor_amax = q.tensor_amax, .given = s.c.scale});
  return q;
}

}  // namespace

ScaleSubject::ScaleSubject(const ScaleCase& c, const ScaleMachine& machine)
    : c(c),
      machine(machine),
      recipe(recipe_of(c)),
      elements(elements_of(c)),
      format(format_of(elements)),
      padded(matrix_of(c)),
      matrix(padded.matrix()),
      blocks(recipe::blocks_of(recipe, recipe::Direction::row, matrix.extent)),
      asked(asked_of(*this)) {}

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
