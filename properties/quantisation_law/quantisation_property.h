// The laws of sharded quantisation as a property: its cases are calls over layouts and cuts. Next: laws.h,
// which judges one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {

class ShardedQuantisation final : public Case {
 public:
  explicit ShardedQuantisation(QuantisationCase value) : value_(std::move(value)) {}
  const QuantisationCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer weights, ranks and elements, plain cuts instead of a layout, plain numbers. A fault keeps its
  /// case.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  QuantisationCase value_;
};

/// The kind "quantisation".
const CaseKind& quantisation_kind();

/// What random cases must reach: every recipe, family and layout, cuts within a block, empty pieces, experts.
const std::vector<std::string>& quantisation_situations();

/// judge_sharded of the case, with its fault. A layout that refuses the case breaks nothing. No backend takes
/// part.
JudgedCase judge_quantisation(Backend& backend, const Case& c);

}  // namespace shardcheck
