// The laws of scales as a property: a case is a recipe, a matrix, a scale and a size of storage. Next:
// scale_laws.h, which judges one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/scale_law/scale_case.h"

namespace shardcheck {

class ScaledMatrix final : public Case {
 public:
  explicit ScaledMatrix(ScaleCase value) : value_(std::move(value)) {}
  const ScaleCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer rows and columns, plain numbers.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  ScaleCase value_;
};

/// The kind "scale".
const CaseKind& scale_kind();

/// What random cases must reach: every recipe and family, several blocks, the E8M0 codes at both ends.
const std::vector<std::string>& scale_situations();

/// judge_scales of the case on the backend; on a shadow, on its candidate; of a case with a fault, the law
/// that it must break first.
JudgedCase judge_scale_case(Backend& backend, const Case& c);

}  // namespace shardcheck
