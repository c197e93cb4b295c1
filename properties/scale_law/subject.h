// What the laws of scales look at: one case with its recipe, its matrix and the machine that is judged. For
// the files of this folder. Next: scale_laws.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/scale_law/scale_case.h"
#include "properties/scale_law/scale_machine.h"

namespace shardcheck {

/// Nothing, or the sentence of the first place that breaks the law.
using ScaleVerdict = std::optional<std::string>;

/// Amaxes of the case's first blocks, then corners that formulas have; and the machine's scales of them.
struct AskedScales {
  std::vector<float> amaxes;
  float tensor_amax = 0;
  recipe::Scales scales;
};

struct ScaleSubject {
  ScaleSubject(const ScaleCase& c, const ScaleMachine& machine);

  const ScaleCase& c;
  const ScaleMachine& machine;
  const recipe::Recipe& recipe;
  FormatId elements;
  const Format& format;
  PaddedMatrix padded;
  recipe::Matrix matrix;
  recipe::Blocks blocks;  ///< of the row direction
  AskedScales asked;

  const ScaleRules& rules() const { return machine.rules(); }
  recipe::Wanted wanted(recipe::Direction direction) const { return {direction, elements, c.scale}; }
  std::size_t block_of(std::size_t element) const {
    return static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(element)));
  }
  /// Largest magnitudes of the blocks, NaN left out: by comparison of the numbers.
  std::vector<float> exact_amaxes() const;
  /// Whether every number is finite and, where not zero, between 2^-60 and 2^60: no scale leaves fp32's
  /// normal range.
  bool is_plain() const { return c.numbers <= MasterFamily::zeros; }
};

/// Same number, or both NaN; zeros by their sign.
bool is_same_number(float a, float b);
bool is_same_list(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace shardcheck
