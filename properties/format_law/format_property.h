// The laws of formats as a property: a case is one format, one named cast and a list of numbers. Next:
// format_laws.h, which judges one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/format_law/format_case.h"

namespace shardcheck {

class CastNumbers final : public Case {
 public:
  explicit CastNumbers(FormatCase value) : value_(std::move(value)) {}
  const FormatCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer numbers, no shift.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  FormatCase value_;
};

/// The kind "format".
const CaseKind& format_kind();

/// What random cases must reach: every format, every source, every name of a policy.
const std::vector<std::string>& format_situations();

/// judge_format of the case on the backend; on a shadow, on its candidate; of a case with a fault, the law
/// that it must break first.
JudgedCase judge_format_case(Backend& backend, const Case& c);

}  // namespace shardcheck
