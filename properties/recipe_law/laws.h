// Laws of quantising one matrix, F23, F25, F26, F28 and F30 to F34 (fp8 5.2, 5.3): what must hold of codes
// and scales whatever computed them. The subject is a function, so that a fault of the zoo, or another
// quantiser, takes the place of ours. Next: zoo.h.
#pragma once

#include <functional>
#include <vector>

#include "core/contract/finding.h"
#include "core/recipe/quantize.h"

namespace shardcheck {

/// Quantises a matrix in the direction that is wanted.
using Quantiser = std::function<recipe::QuantizedCopy(
    const recipe::Recipe& recipe, const recipe::Wanted& wanted, const recipe::Matrix& matrix)>;

/// Every broken law, each once, with the first element that shows it. Values are finite and, where not zero,
/// between 2^-60 and 2^60 in magnitude, so that no scale leaves fp32's normal range. Recipes with given
/// scales and with two levels keep fewer laws; those that do not speak of them are not asked.
std::vector<Finding> judge_recipe(const recipe::Recipe& recipe, const recipe::Matrix& matrix,
                                  const Quantiser& quantiser);

}  // namespace shardcheck
