// The recipes by name (fp8 3). A tool or a case names a recipe and gets all of its decisions.
#pragma once

#include <span>
#include <string_view>

#include "core/recipe/recipe.h"

namespace shardcheck::recipe {

/// All recipes, in the order of the specification.
std::span<const Recipe> recipes();

/// Null when there is none of that name.
const Recipe* find_recipe(std::string_view name);

}  // namespace shardcheck::recipe
