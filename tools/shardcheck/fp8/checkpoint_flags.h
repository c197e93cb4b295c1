// What `shardcheck fp8 quantize` and `verify` have in common: recipes and tensors by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_files.h"
#include "core/recipe/recipe.h"

namespace shardcheck::fp8 {

/// The recipe of that name that quantises a matrix by itself. Throws Error(bad_input), which lists all.
const recipe::Recipe& recipe_of_files(const std::string& name);

/// A sentence with all names.
std::string recipes_text();

/// Tensors that were asked for, by name or by pattern (*, ?, [...]).
class Chosen {
 public:
  /// No pattern chooses all. Throws Error(bad_input) where a pattern chooses none of the tensors.
  Chosen(std::vector<std::string> patterns, const checkpoint::TensorFiles& files);

  bool has(const std::string& name) const;
  /// Whether it was asked for by its whole name.
  bool is_named(const std::string& name) const { return named_.contains(name); }

 private:
  std::vector<std::string> patterns_;
  std::set<std::string> named_;
};

/// "13.9 GB", "671 MB".
std::string bytes_text(std::int64_t bytes);

}  // namespace shardcheck::fp8
