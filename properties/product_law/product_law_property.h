// The laws of products as a property: a case is one law and a small GEMM. Next: product_laws.h, which judges
// one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/product_law/product_case.h"

namespace shardcheck {

class AskedProduct final : public Case {
 public:
  explicit AskedProduct(ProductQuestion value) : value_(std::move(value)) {}
  const ProductQuestion& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Smaller sizes, no alpha, no beta, plain operands. A fault keeps its case.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  ProductQuestion value_;
};

/// The kind "product-law".
const CaseKind& product_law_kind();

/// What random cases must reach: every law, 16-bit operands, FP8 with and without promotion.
const std::vector<std::string>& product_law_situations();

/// judge_product_law of the case on the backend; on a shadow, on its candidate. A machine whose profile has
/// no rule for what is asked must refuse it.
JudgedCase judge_product_question(Backend& backend, const Case& c);

}  // namespace shardcheck
