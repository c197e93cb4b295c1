// The laws of recipes as a property: its cases are one matrix and one recipe, quantised by our own functions
// or by a faulty quantiser of the zoo. Next: laws.h, which judges one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {

struct RecipeCase {
  std::string recipe = "te-current";
  std::int64_t rows = 1, columns = 1;
  MasterFamily numbers = MasterFamily::log_uniform;  ///< neither tiny nor special
  std::uint64_t seed = 0;
  std::string fault;  ///< of the zoo of recipes, or empty
};

class QuantisedMatrix final : public Case {
 public:
  explicit QuantisedMatrix(RecipeCase value) : value_(std::move(value)) {}
  const RecipeCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer rows and columns, plain numbers.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  RecipeCase value_;
};

/// The kind "recipe".
const CaseKind& recipe_kind();

/// What random cases must reach: every recipe and family, partial blocks, several blocks.
const std::vector<std::string>& recipe_situations();

/// judge_recipe of the case, quantised on the backend where ops of blocks have the recipe; on a shadow, on
/// its candidate.
JudgedCase judge_recipe_case(Backend& backend, const Case& c);

}  // namespace shardcheck
