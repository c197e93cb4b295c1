// The law F66 as a property: its cases are products. Next: gemm_law.h, which judges one.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/gemm_law/gemm_case.h"

namespace shardcheck {

class ProductCase final : public Case {
 public:
  explicit ProductCase(const GemmCase& value) : value_(value) {}
  const GemmCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Smaller sizes, no scales, alpha 1, beta 0, plain operands.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  GemmCase value_;
};

/// The kind "product".
const CaseKind& product_kind();

/// What random cases must reach: every family of operands, every kind of scale, both accumulations.
const std::vector<std::string>& product_situations();

/// gemm_equals_profile on the backend; on a shadow, on its candidate. A backend whose arithmetic has no
/// profile breaks nothing and reaches no situation; one whose profile has no rule for the case must refuse
/// it.
JudgedCase judge_product(Backend& backend, const Case& c);

}  // namespace shardcheck
