#include "tools/shardcheck/fp8/checkpoint_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "core/error.h"
#include "core/recipe/catalogue.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck::fp8 {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> known_recipes() {
  std::vector<std::string> names;
  for (const recipe::Recipe& recipe : recipe::recipes()) {
    if (recipe.formula != recipe::ScaleFormula::given) names.emplace_back(recipe.name);
  }
  return names;
}

}  // namespace

const recipe::Recipe& recipe_of_files(const std::string& name) {
  const recipe::Recipe* found = recipe::find_recipe(name);
  if (found != nullptr && found->formula == recipe::ScaleFormula::given)
    throw bad_input(
        "--recipe",
        fmt::format("the scale of {} comes from the amaxes of earlier training steps, which no file "
                    "of weights holds; te-current takes it from the tensor itself",
                    name));
  if (found != nullptr) return *found;
  const std::vector<std::string> known = known_recipes();
  const std::vector<std::string> near = nearest({name, "recipe", known, ""});
  throw bad_input("--recipe",
                  fmt::format("\"{}\" is not a known recipe{}; known are {}", name.substr(0, 80),
                              near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near.front()),
                              fmt::join(known, ", ")));
}

std::string recipes_text() {
  return fmt::format("Recipes: {}.", fmt::join(known_recipes(), ", "));
}

Chosen::Chosen(std::vector<std::string> patterns, const checkpoint::TensorFiles& files)
    : patterns_(std::move(patterns)) {
  for (const std::string& pattern : patterns_) {
    std::vector<std::string> known;
    const bool is_any = std::ranges::any_of(files.tensors(), [&](const checkpoint::StoredTensor& tensor) {
      known.push_back(tensor.entry->name);
      return matches(pattern, tensor.entry->name);
    });
    if (files.find(pattern) != nullptr) {
      named_.insert(pattern);
    } else if (!is_any) {
      const std::string sentence = unknown_name({pattern, "tensor of " + files.path().string(), known, ""});
      throw bad_input("--tensor", sentence + "; names and patterns such as \"model.layers.0.*\" are read");
    }
  }
}

bool Chosen::has(const std::string& name) const {
  if (patterns_.empty() || named_.contains(name)) return true;
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) { return matches(pattern, name); });
}

std::string bytes_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.0f} kB", value / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.0f} MB", value / 1e6);
  return fmt::format("{:.1f} GB", value / 1e9);
}

}  // namespace shardcheck::fp8
