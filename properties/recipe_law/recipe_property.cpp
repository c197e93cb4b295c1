#include "properties/recipe_law/recipe_property.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/recipe/catalogue.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/quantisation_law/master_family_names.h"
#include "properties/recipe_law/block_machine.h"
#include "properties/recipe_law/laws.h"
#include "properties/recipe_law/zoo.h"

namespace shardcheck::case_fields {

template <>
struct FieldsOf<RecipeCase> {
  template <class F>
  static void list(F& fields, RecipeCase& c) {
    fields("recipe", c.recipe);
    fields("rows", c.rows);
    fields("columns", c.columns);
    fields("numbers", c.numbers);
    fields("seed", c.seed);
    fields("fault", c.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
constexpr std::size_t kFamilies = 5;

const recipe::Recipe& recipe_of(const RecipeCase& c) {
  return *recipe::find_recipe(c.recipe);
}

std::int64_t draw_extent(Draw& draw, std::int64_t block) {
  const std::int64_t edge = draw.pick({block, std::int64_t{1}, std::int64_t{1}, 2 * block});
  return std::max<std::int64_t>(1, edge + draw.pick<std::int64_t>({-1, 0, 1, 4, 20}));
}

RecipeCase random_case(Draw& draw) {
  const auto recipes = recipe::recipes();
  const recipe::Recipe& drawn = recipes[static_cast<std::size_t>(draw.below(std::ssize(recipes)))];
  RecipeCase c{.recipe = std::string(drawn.name)};
  c.rows = draw_extent(draw, drawn.block.across);
  c.columns = draw_extent(draw, drawn.block.along);
  constexpr std::int64_t kMostDrawn = 1 << 13;
  if (c.rows > kMostDrawn / c.columns) c.columns = draw.pick<std::int64_t>({1, 3, 20});
  c.numbers = static_cast<MasterFamily>(draw.below(static_cast<std::int32_t>(kFamilies)));
  c.seed = draw.word();
  return c;
}

void check(const RecipeCase& c, const std::string& where) {
  if (recipe::find_recipe(c.recipe) == nullptr)
    throw bad_input(where + ".recipe", fmt::format("\"{}\" is no recipe, as te-mxfp8 is", c.recipe));
  if (c.rows < 1 || c.columns < 1 || c.rows > kMostElements / c.columns)
    throw bad_input(where, fmt::format("expected rows and columns of 1 to {} elements", kMostElements));
  if (c.numbers > MasterFamily::zeros)
    throw bad_input(where + ".numbers", "expected numbers that no scale overflows on: not tiny, not special");
  if (!c.fault.empty() && find_recipe_fault(c.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of recipes", c.fault));
}

constexpr CaseKind kKind = kind_of<QuantisedMatrix, random_case, check>("recipe");

/// The numbers of a case: those of the only weight of an unsharded call.
std::vector<float> numbers_of(const RecipeCase& c) {
  QuantisationCase whole{.recipe = c.recipe};
  whole.weights = {{.rows = c.rows, .columns = c.columns}};
  whole.masters = c.numbers;
  whole.seed = c.seed;
  return std::move(call_of(whole).weights[0].master);
}

/// The fault; else one QuantizeMatrix on the backend where ops have the recipe; else core/recipe.
Quantiser quantiser_of(Backend& backend, const recipe::Recipe& recipe, const RecipeFault* fault) {
  if (fault != nullptr) return fault->quantiser;
  if (!has_block_ops(recipe, recipe.forward)) return recipe::quantize;
  return [&](const recipe::Recipe& each, const recipe::Wanted& wanted, const recipe::Matrix& matrix) {
    return BlockMachine(backend).quantized(each, wanted, matrix);
  };
}

}  // namespace

const CaseKind& recipe_kind() {
  return kKind;
}

std::string QuantisedMatrix::json() const {
  return json_of_case(kKind, value_);
}

std::string QuantisedMatrix::describe() const {
  std::string text = fmt::format("{} x {} by {}, numbers {}, seed {}", value_.rows, value_.columns,
                                 value_.recipe, name_of(value_.numbers), value_.seed);
  if (!value_.fault.empty()) text += fmt::format(", with fault {} switched on", value_.fault);
  return text;
}

std::vector<std::unique_ptr<Case>> QuantisedMatrix::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  const auto with = [&](auto change) {
    RecipeCase less = value_;
    change(less);
    all.push_back(std::make_unique<QuantisedMatrix>(std::move(less)));
  };
  for (const auto extent : {&RecipeCase::rows, &RecipeCase::columns}) {
    const std::int64_t size = value_.*extent;
    for (const std::int64_t fewer : {std::int64_t{1}, size / 2, size - 1}) {
      if (fewer > 0 && fewer < size) with([&](RecipeCase& c) { c.*extent = fewer; });
    }
  }
  if (value_.numbers != MasterFamily::log_uniform)
    with([](RecipeCase& c) { c.numbers = MasterFamily::log_uniform; });
  return all;
}

const std::vector<std::string>& recipe_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"several blocks", "a partial block"};
    for (std::size_t family = 0; family < kFamilies; ++family)
      all.push_back(fmt::format("numbers {}", name_of(static_cast<MasterFamily>(family))));
    for (const recipe::Recipe& each : recipe::recipes()) all.push_back(fmt::format("recipe {}", each.name));
    return all;
  }();
  return situations;
}

JudgedCase judge_recipe_case(Backend& backend, const Case& c) {
  const RecipeCase& value = static_cast<const QuantisedMatrix&>(c).value();
  const recipe::Recipe& recipe = recipe_of(value);
  const std::vector<float> numbers = numbers_of(value);
  const recipe::Matrix matrix{{value.rows, value.columns}, numbers};
  const RecipeFault* fault = find_recipe_fault(value.fault);
  JudgedCase judged{
      .findings = judge_recipe(recipe, matrix, quantiser_of(candidate_of(backend), recipe, fault)),
      .situations = {}};
  if (fault != nullptr) {
    std::ranges::stable_partition(judged.findings, [&](const Finding& f) { return f.clause == fault->law; });
    return judged;
  }
  const recipe::Blocks blocks = recipe::blocks_of(recipe.block, recipe::Direction::row, matrix.extent);
  if (blocks.count() > 1) judged.situations.push_back(0);
  if (blocks.height * blocks.grid.rows != value.rows || blocks.width * blocks.grid.columns != value.columns)
    judged.situations.push_back(1);
  judged.situations.push_back(2 + static_cast<std::size_t>(value.numbers));
  judged.situations.push_back(2 + kFamilies + static_cast<std::size_t>(&recipe - recipe::recipes().data()));
  return judged;
}

}  // namespace shardcheck
