#include "properties/gemm_law/gemm_property.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/gemm_law/gemm_law.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<OperandLayout> {
  static constexpr std::string_view names[] = {"transposed", "plain"};
};
template <>
struct EnumNames<ScaleKind> {
  static constexpr std::string_view names[] = {"none", "tensor", "outer_vector", "1x128", "128x128"};
};
template <>
struct EnumNames<OperandFamily> {
  static constexpr std::string_view names[] = {"uniform",        "gaussian", "every_code",
                                               "wide_exponents", "sparse",   "subnormals"};
};
template <>
struct EnumNames<ScaleFamily> {
  static constexpr std::string_view names[] = {"ones", "powers_of_two", "any"};
};

template <>
struct FieldsOf<GemmCase> {
  template <class F>
  static void list(F& fields, GemmCase& c) {
    fields("m", c.op.m);
    fields("n", c.op.n);
    fields("k", c.op.k);
    fields("a_layout", c.op.a);
    fields("b_layout", c.op.b);
    fields("a", c.a);
    fields("b", c.b);
    fields("d", c.d);
    fields("scales_a", c.op.scales_a);
    fields("scales_b", c.op.scales_b);
    fields("fast_accumulation", c.op.fast_accumulation);
    fields("accumulate", c.op.accumulate);
    fields("alpha", c.op.alpha);
    fields("operands", c.operands);
    fields("scales", c.scales);
    fields("seed", c.seed);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

/// Products that a kept case may have: a second of the readable profile.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 28;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 20;

std::unique_ptr<Case> draw(CaseNumber number) {
  Draw draw(number.seed, number.number);
  return std::make_unique<ProductCase>(random_gemm_case(draw));
}

void validate(const GemmCase& c, const std::string& where) {
  for (const std::int64_t extent : {c.op.m, c.op.n, c.op.k}) {
    if (extent < 1 || extent > kMostExtent)
      throw bad_input(where, fmt::format("m, n and k are numbers from 1 to {}", kMostExtent));
  }
  if (c.op.m * c.op.n > kMostProducts / c.op.k)
    throw bad_input(where, fmt::format("m n k is more than {} products", kMostProducts));
  for (const DType type : {c.a, c.b, c.d}) {
    if (type == DType::u8) throw bad_input(where, "u8 is no type of a product");
  }
}

std::unique_ptr<Case> read_case(const std::string& json, const std::string& where) {
  constexpr int kDepth = 3;
  const JsonValue root = checkpoint::parse_object(json, where, kDepth);
  const Place place{root, where};
  GemmCase c;
  std::string kind;
  Reader reader{place, {}};
  reader("kind", kind);
  FieldsOf<GemmCase>::list(reader, c);
  reader.refuse_unknown();
  validate(c, where);
  return std::make_unique<ProductCase>(c);
}

constexpr CaseKind kKind{"product", draw, read_case};

constexpr std::size_t kScaleKinds = 5;

}  // namespace

const CaseKind& product_kind() {
  return kKind;
}

std::string ProductCase::json() const {
  ordered_json json = {{"kind", "product"}};
  json.update(written(value_));
  return json.dump(1) + "\n";
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
  auto* shadow = dynamic_cast<Shadow*>(&backend);
  Backend& candidate = shadow == nullptr ? backend : shadow->candidate();
  JudgedCase judged;
  if (profile_named(candidate.info().profile) == nullptr) return judged;
  judged.findings = gemm_equals_profile(candidate, value);
  judged.situations = {static_cast<std::size_t>(value.operands),
                       kOperandFamilies + static_cast<std::size_t>(value.op.scales_a)};
  if (value.op.fast_accumulation) judged.situations.push_back(kOperandFamilies + kScaleKinds);
  if (value.op.accumulate) judged.situations.push_back(kOperandFamilies + kScaleKinds + 1);
  return judged;
}

}  // namespace shardcheck
