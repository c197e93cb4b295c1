// A case of the laws of scales as a small value: a recipe, a matrix of drawn numbers, and the few more that
// single laws need. The same case has the same numbers everywhere. Next: scale_laws.h judges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/recipe/quantize.h"
#include "properties/generate/draw.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {

struct ScaleCase {
  std::string recipe = "te-current";
  std::int64_t rows = 1, columns = 1;
  MasterFamily numbers = MasterFamily::log_uniform;
  bool gradient = false;                             ///< elements in the recipe's format of gradients
  std::int64_t cut = 0;                              ///< where the matrix is cut in two pieces (F18, F19)
  float scale = 1;                                   ///< of F27
  std::int32_t code = 127;                           ///< E8M0 code of F17 and F39, 0 to 254
  std::int64_t stored_rows = 1, stored_columns = 1;  ///< of a matrix whose scales are only stored (F35, F36)
  std::uint64_t seed = 0;
  std::string fault;  ///< of the zoo of scales, or empty
};

ScaleCase random_scale_case(Draw& draw);

const recipe::Recipe& recipe_of(const ScaleCase& c);
FormatId elements_of(const ScaleCase& c);

/// Numbers of a matrix in a larger buffer: rows of something else follow, which nobody may read (F37).
class PaddedMatrix {
 public:
  PaddedMatrix(recipe::Extent extent, std::vector<float> values, float behind);
  recipe::Matrix matrix() const;

 private:
  recipe::Extent extent_;
  std::vector<float> values_;
};

/// The matrix of the case, large numbers behind it.
PaddedMatrix matrix_of(const ScaleCase& c);

std::string describe(const ScaleCase& c);

}  // namespace shardcheck
