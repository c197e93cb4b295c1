// The table of recipes: names are unique, and the fields of a row agree with each other.
#include "core/recipe/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace shardcheck::recipe {
namespace {

TEST(Catalogue, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_EQ(find_recipe(recipe.name), &recipe);
    EXPECT_FALSE(recipe.sentence.empty());
  }
  EXPECT_EQ(find_recipe("te-block-1x127"), nullptr);
}

TEST(Catalogue, FieldsOfARowAgree) {
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    EXPECT_EQ(recipe.scale_format == FormatId::e8m0, is_power_of_two_code(recipe.formula));
    EXPECT_EQ(recipe.scale_format == FormatId::ue4m3, recipe.formula == ScaleFormula::two_level);
    EXPECT_EQ(recipe.swizzled_for_products, recipe.scale_format == FormatId::e8m0);
    // fp8 3.7: square blocks and whole tensors have a second copy that follows from the first.
    const bool is_square = recipe.block.along == recipe.block.across;
    const bool is_tile_of_mx = is_square && recipe.scale_format == FormatId::e8m0;
    EXPECT_EQ(is_derivable(recipe.second_copy), is_square && !is_tile_of_mx);
  }
}

}  // namespace
}  // namespace shardcheck::recipe
