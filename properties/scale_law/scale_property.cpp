#include "properties/scale_law/scale_property.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/recipe/catalogue.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/quantisation_law/master_family_names.h"
#include "properties/scale_law/scale_laws.h"
#include "properties/scale_law/zoo.h"

namespace shardcheck::case_fields {

template <>
struct FieldsOf<ScaleCase> {
  template <class F>
  static void list(F& fields, ScaleCase& c) {
    fields("recipe", c.recipe);
    fields("rows", c.rows);
    fields("columns", c.columns);
    fields("numbers", c.numbers);
    fields("gradient", c.gradient);
    fields("cut", c.cut);
    fields("scale", c.scale);
    fields("code", c.code);
    fields("stored_rows", c.stored_rows);
    fields("stored_columns", c.stored_columns);
    fields("seed", c.seed);
    fields("fault", c.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

void check_extents(std::int64_t rows, std::int64_t columns, const std::string& where) {
  if (rows < 1 || columns < 1 || rows > kMostElements / columns)
    throw bad_input(where, fmt::format("expected rows and columns of 1 to {} elements", kMostElements));
}

void check(const ScaleCase& c, const std::string& where) {
  if (recipe::find_recipe(c.recipe) == nullptr)
    throw bad_input(where + ".recipe", fmt::format("\"{}\" is no recipe, as te-mxfp8 is", c.recipe));
  check_extents(c.rows, c.columns, where);
  check_extents(c.stored_rows, c.stored_columns, where + ".stored_rows");
  if (c.cut > c.rows * c.columns)
    throw bad_input(where + ".cut",
                    fmt::format("expected at most {}, the number of elements", c.rows * c.columns));
  if (!(c.scale >= 0x1p-61f && c.scale <= 0x1p61f))
    throw bad_input(where + ".scale", "expected a number between 2^-61 and 2^61");
  constexpr std::int32_t kLastCode = 254;
  if (c.code > kLastCode) throw bad_input(where + ".code", fmt::format("expected at most {}", kLastCode));
  if (!c.fault.empty() && find_scale_fault(c.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of scales", c.fault));
}

constexpr CaseKind kKind = kind_of<ScaledMatrix, random_scale_case, check>("scale");

// The order of scale_situations().
constexpr std::size_t kSeveralBlocks = 0, kFirstPower = 1, kLastPower = 2, kGradient = 3, kFirstFamily = 4;

}  // namespace

const CaseKind& scale_kind() {
  return kKind;
}

std::string ScaledMatrix::json() const {
  return json_of_case(kKind, value_);
}

std::string ScaledMatrix::describe() const {
  return shardcheck::describe(value_);
}

std::vector<std::unique_ptr<Case>> ScaledMatrix::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  const auto with = [&](auto change) {
    ScaleCase less = value_;
    change(less);
    less.cut = std::min(less.cut, less.rows * less.columns);
    all.push_back(std::make_unique<ScaledMatrix>(std::move(less)));
  };
  for (const auto extent :
       {&ScaleCase::rows, &ScaleCase::columns, &ScaleCase::stored_rows, &ScaleCase::stored_columns}) {
    const std::int64_t size = value_.*extent;
    for (const std::int64_t fewer : {std::int64_t{1}, size / 2, size - 1}) {
      if (fewer > 0 && fewer < size) with([&](ScaleCase& c) { c.*extent = fewer; });
    }
  }
  if (value_.numbers != MasterFamily::log_uniform)
    with([](ScaleCase& c) { c.numbers = MasterFamily::log_uniform; });
  if (value_.gradient) with([](ScaleCase& c) { c.gradient = false; });
  if (value_.cut != 0) with([](ScaleCase& c) { c.cut = 0; });
  if (value_.scale != 1) with([](ScaleCase& c) { c.scale = 1; });
  return all;
}

const std::vector<std::string>& scale_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"several blocks", "the E8M0 code 0", "the E8M0 code 254",
                                 "elements of gradients"};
    for (int family = 0; family < kMasterFamilies; ++family)
      all.push_back(fmt::format("numbers {}", name_of(static_cast<MasterFamily>(family))));
    for (const recipe::Recipe& each : recipe::recipes()) all.push_back(fmt::format("recipe {}", each.name));
    return all;
  }();
  return situations;
}

JudgedCase judge_scale_case(Backend& backend, const Case& c) {
  const ScaleCase& value = static_cast<const ScaledMatrix&>(c).value();
  if (const ScaleFault* fault = find_scale_fault(value.fault)) {
    JudgedCase judged{judge_scales(value, ScaleMachine(fault->rules)), {}};
    std::ranges::stable_partition(judged.findings, [&](const Finding& f) { return f.clause == fault->law; });
    return judged;
  }
  JudgedCase judged{judge_scales(value, ScaleMachine(candidate_of(backend))), {}};
  const recipe::Recipe& recipe = recipe_of(value);
  const recipe::Extent extent{value.rows, value.columns};
  if (recipe::blocks_of(recipe, recipe::Direction::row, extent).count() > 1)
    judged.situations.push_back(kSeveralBlocks);
  if (value.code == 0) judged.situations.push_back(kFirstPower);
  if (value.code == 254) judged.situations.push_back(kLastPower);
  if (value.gradient) judged.situations.push_back(kGradient);
  judged.situations.push_back(kFirstFamily + static_cast<std::size_t>(value.numbers));
  judged.situations.push_back(kFirstFamily + kMasterFamilies +
                              static_cast<std::size_t>(&recipe - recipe::recipes().data()));
  return judged;
}

}  // namespace shardcheck
