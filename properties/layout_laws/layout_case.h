// LayoutCase: a case of the layout laws as a Case: kept as JSON, shrunk, judged. Next: case_json.h writes and
// reads it, judge.h judges.
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/layout_laws/judge.h"

namespace shardcheck::laws {

class LayoutCase final : public shardcheck::Case {
 public:
  explicit LayoutCase(laws::Case value) : value_(std::move(value)) {}
  const laws::Case& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer parameters, ranks and axes, smaller extents, plain flags, no second layout.
  std::vector<std::unique_ptr<shardcheck::Case>> smaller() const override;

 private:
  laws::Case value_;
};

/// The kind "layout". The first cases of every stream are the smallest models of the declared quirks, so that
/// one that no longer shows is missed at once; the others are random.
const CaseKind& layout_kind();

/// What random cases must reach: bytes moved in every layout, refusals, huge sizes, and every declared quirk.
const std::vector<std::string>& layout_situations();

/// All laws over a LayoutCase, with indices of layout_situations(). Findings that a declared quirk explains
/// are situations, not findings. No backend takes part.
JudgedCase judge_layout_case(Backend& backend, const shardcheck::Case& c);

/// A law's finding as any other: the numbers that it compares go into the sentence, in decimal and hex.
Finding finding_of(const LawFinding& finding);

}  // namespace shardcheck::laws
