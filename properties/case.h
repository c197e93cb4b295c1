// Case: one input of a property whose cases are not training steps: a layout question (L1 to L30), a product
// (F66). Its JSON is what a failure is kept as; a training step is kept as its scenario
// (sim/scenario/json.h). Next: counterexample.h, which is either.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

class Case {
 public:
  virtual ~Case() = default;

  /// The case as a JSON object with "kind", the name of its kind; ends with a newline.
  virtual std::string json() const = 0;
  /// In one paragraph, for people.
  virtual std::string describe() const = 0;
  /// Cases with a little less in them, the boldest first; none when nothing can go.
  virtual std::vector<std::unique_ptr<Case>> smaller() const = 0;
};

/// Which random case.
struct CaseNumber {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;  ///< 0-based
};

/// What a property says of a case.
struct JudgedCase {
  std::vector<Finding> findings;        ///< empty when the law holds
  std::vector<std::size_t> situations;  ///< reached, as indices of Property::situations
};

struct CaseKind {
  std::string_view name;  ///< "layout"
  /// The same case on every machine.
  std::unique_ptr<Case> (*draw)(CaseNumber number);
  /// The inverse of Case::json. `where` (a file name) begins every sentence. Throws Error(bad_input).
  std::unique_ptr<Case> (*read)(const std::string& json, const std::string& where);
};

}  // namespace shardcheck
