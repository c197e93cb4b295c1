#include "properties/product_law/product_law_property.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/shadow.h"
#include "properties/gemm_law/execute.h"
#include "properties/gemm_law/gemm_case_fields.h"
#include "properties/product_law/product_laws.h"
#include "properties/product_law/zoo.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<ProductLaw> {
  static constexpr std::string_view names[] = {"F57", "F58", "F59", "F60", "F61",
                                               "F62", "F63", "F64", "F65", "F66"};
};

template <>
struct FieldsOf<ProductQuestion> {
  template <class F>
  static void list(F& fields, ProductQuestion& q) {
    fields("law", q.law);
    fields("gemm", q.gemm);
    fields("positive", q.positive);
    fields("power", q.power);
    fields("row", q.row);
    fields("fault", q.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

/// Products that a kept case may have; a law computes several.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 24;

void check(const ProductQuestion& q, const std::string& where) {
  check_gemm(q.gemm, where + ".gemm", kMostProducts);
  constexpr std::int32_t kMostPower = 8;
  if (q.power > kMostPower) throw bad_input(where + ".power", fmt::format("expected at most {}", kMostPower));
  if (!q.fault.empty() && find_product_fault(q.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of products", q.fault));
}

constexpr CaseKind kKind = kind_of<AskedProduct, random_product_question, check>("product-law");

// The order of product_law_situations(): the laws, then what the operands are.
constexpr std::size_t kSixteenBit = kProductLaws - 1, kFast = kSixteenBit + 1, kPromoted = kFast + 1,
                      kPositive = kPromoted + 1;

}  // namespace

const CaseKind& product_law_kind() {
  return kKind;
}

std::string AskedProduct::json() const {
  return json_of_case(kKind, value_);
}

std::string AskedProduct::describe() const {
  return shardcheck::describe(value_);
}

std::vector<std::unique_ptr<Case>> AskedProduct::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  if (!value_.fault.empty()) return all;
  const auto with = [&](auto change) {
    ProductQuestion less = value_;
    change(less);
    all.push_back(std::make_unique<AskedProduct>(std::move(less)));
  };
  for (const auto extent : {&Matmul::k, &Matmul::m, &Matmul::n}) {
    const std::int64_t size = value_.gemm.op.*extent;
    for (const std::int64_t fewer : {std::int64_t{1}, std::int64_t{16}, size / 2, size - 1}) {
      if (fewer > 0 && fewer < size) with([&](ProductQuestion& q) { q.gemm.op.*extent = fewer; });
    }
  }
  if (value_.gemm.op.alpha != 1) with([](ProductQuestion& q) { q.gemm.op.alpha = 1; });
  if (value_.gemm.op.accumulate) with([](ProductQuestion& q) { q.gemm.op.accumulate = false; });
  if (value_.gemm.scales != ScaleFamily::ones)
    with([](ProductQuestion& q) { q.gemm.scales = ScaleFamily::ones; });
  if (value_.gemm.operands != OperandFamily::uniform)
    with([](ProductQuestion& q) { q.gemm.operands = OperandFamily::uniform; });
  if (value_.positive) with([](ProductQuestion& q) { q.positive = false; });
  return all;
}

const std::vector<std::string>& product_law_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all;
    for (int law = 0; law < kProductLaws - 1; ++law)
      all.push_back(fmt::format("law {}", clause_of(static_cast<ProductLaw>(law))));
    for (const char* kind : {"16-bit operands", "fast FP8", "promoted FP8", "operands without signs"})
      all.emplace_back(kind);
    return all;
  }();
  return situations;
}

JudgedCase judge_product_question(Backend& backend, const Case& c) {
  const ProductQuestion& value = static_cast<const AskedProduct&>(c).value();
  if (const ProductFault* fault = find_product_fault(value.fault))
    return {judge_product_law(value, ProductMachine(fault->product, fault->narrow)), {}};
  const ProductMachine machine(candidate_of(backend));
  JudgedCase judged;
  if (is_asked(value, machine)) {
    judged.findings = judge_product_law(value, machine);
  } else if (!refuses(candidate_of(backend), as_asked(value))) {
    judged.findings.push_back(
        {.clause = std::string(clause_of(value.law)),
         .sentence = fmt::format("GEMM {}: profile {} has no rule for it, and it was computed",
                                 describe(as_asked(value)), machine.profile()->name)});
  }
  const GemmCase asked = as_asked(value);
  if (value.law != ProductLaw::equals_profile)
    judged.situations.push_back(static_cast<std::size_t>(value.law));
  judged.situations.push_back(bytes_of(asked.a) > 1        ? kSixteenBit
                              : asked.op.fast_accumulation ? kFast
                                                           : kPromoted);
  if (value.positive) judged.situations.push_back(kPositive);
  return judged;
}

}  // namespace shardcheck
