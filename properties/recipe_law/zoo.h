// The zoo of recipes: quantisers with one known fault each, and the law that must catch it (fp8 7). Entries
// Q... are of that catalogue; entries M... are ours, so that every judged law has a fault. Next: laws.h.
#pragma once

#include <span>
#include <string_view>

#include "properties/recipe_law/laws.h"
#include "properties/recipe_law/recipe_property.h"

namespace shardcheck {

struct RecipeFault {
  std::string_view id;      ///< "Q18"
  std::string_view title;   ///< what goes wrong, one sentence
  std::string_view law;     ///< that must catch it
  std::string_view recipe;  ///< that shows it
  recipe::QuantizedCopy (*quantiser)(const recipe::Recipe& recipe, const recipe::Wanted& wanted,
                                     const recipe::Matrix& matrix);
};

std::span<const RecipeFault> recipe_zoo();

/// Null when there is none of that id.
const RecipeFault* find_recipe_fault(std::string_view id);

/// The case that shows the fault, with the fault in it.
RecipeCase case_of(const RecipeFault& fault);

}  // namespace shardcheck
