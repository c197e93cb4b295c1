#include "properties/gemm_law/gemm_property.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/shadow.h"
#include "properties/gemm_law/execute.h"
#include "properties/gemm_law/gemm_case_fields.h"
#include "properties/gemm_law/gemm_law.h"

namespace shardcheck {
namespace {

using namespace case_fields;

/// Products that a kept case may have: a second of the readable profile.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 28;

void validate(const GemmCase& c, const std::string& where) {
  check_gemm(c, where, kMostProducts);
}

constexpr CaseKind kKind = kind_of<ProductCase, random_gemm_case, validate>("product");

constexpr std::size_t kScaleKinds = 5;

}  // namespace

const CaseKind& product_kind() {
  return kKind;
}

std::string ProductCase::json() const {
  return json_of_case(kKind, value_);
}

std::string ProductCase::describe() const {
  return shardcheck::describe(value_);
}

std::vector<std::unique_ptr<Case>> ProductCase::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  const auto with = [&](auto change) {
    GemmCase less = value_;
    change(less);
    all.push_back(std::make_unique<ProductCase>(less));
  };
  // Numbers belong to places, so that fewer places may lose the one that shows it: one output of other seeds.
  constexpr std::uint64_t kSeeds = 16;
  for (std::uint64_t i = 1; value_.op.m * value_.op.n > 1 && i <= kSeeds; ++i) {
    with([&](GemmCase& c) {
      c.op.m = c.op.n = 1;
      c.seed = value_.seed + i;
    });
  }
  for (const auto extent : {&Matmul::k, &Matmul::m, &Matmul::n}) {
    const std::int64_t size = value_.op.*extent;
    for (const std::int64_t fewer : {std::int64_t{1}, std::int64_t{16}, size / 2, size - 1}) {
      if (fewer > 0 && fewer < size) with([&](GemmCase& c) { c.op.*extent = fewer; });
    }
  }
  if (value_.op.alpha != 1) with([](GemmCase& c) { c.op.alpha = 1; });
  if (value_.op.accumulate) with([](GemmCase& c) { c.op.accumulate = false; });
  if (value_.scales != ScaleFamily::ones) with([](GemmCase& c) { c.scales = ScaleFamily::ones; });
  if (value_.operands != OperandFamily::uniform)
    with([](GemmCase& c) { c.operands = OperandFamily::uniform; });
  return all;
}

const std::vector<std::string>& product_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all;
    for (const std::string_view name : EnumNames<OperandFamily>::names)
      all.push_back(fmt::format("operands {}", name));
    for (const std::string_view name : EnumNames<ScaleKind>::names)
      all.push_back(fmt::format("scales {}", name));
    all.emplace_back("fast accumulation");
    all.emplace_back("beta 1");
    return all;
  }();
  return situations;
}

JudgedCase judge_product(Backend& backend, const Case& c) {
  const GemmCase& value = static_cast<const ProductCase&>(c).value();
  Backend& candidate = candidate_of(backend);
  const ArithmeticProfile* profile = profile_named(candidate.info().profile);
  JudgedCase judged;
  if (profile == nullptr) return judged;
  if (!unsupported_reason(*profile, value)) {
    judged.findings = gemm_equals_profile(candidate, value);
  } else if (!refuses(candidate, value)) {
    judged.findings.push_back(
        {.clause = "F66",
         .sentence = fmt::format("GEMM {}: profile {} has no rule for it, and it was computed",
                                 shardcheck::describe(value), profile->name)});
  }
  judged.situations = {static_cast<std::size_t>(value.operands),
                       kOperandFamilies + static_cast<std::size_t>(value.op.scales_a)};
  if (value.op.fast_accumulation) judged.situations.push_back(kOperandFamilies + kScaleKinds);
  if (value.op.accumulate) judged.situations.push_back(kOperandFamilies + kScaleKinds + 1);
  return judged;
}

}  // namespace shardcheck
