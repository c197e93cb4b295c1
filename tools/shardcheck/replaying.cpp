#include "tools/shardcheck/replaying.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "properties/comparison.h"
#include "properties/runner.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

bool is_same_breach(const Finding& a, const Finding& b) {
  const auto key = [](const Finding& f) {
    return std::tie(f.clause, f.sentence, f.op.value, f.rank, f.step, f.parameter, f.element);
  };
  return key(a) == key(b);
}

std::vector<const Property*> of_kind(std::span<const Property* const> properties, const CaseKind* kind) {
  std::vector<const Property*> those;
  std::ranges::copy_if(properties, std::back_inserter(those),
                       [&](const Property* each) { return each->kind == kind; });
  return those;
}

std::vector<Finding> findings_of(std::span<const Property* const> properties, const Counterexample& given,
                                 Backend& backend) {
  std::vector<Finding> all;
  for (const Property* property : of_kind(properties, given.kind)) {
    auto findings = given.kind == nullptr ? ask(*property, backend, given.scenario)
                                          : judge(*property, backend, given).findings;
    for (Finding& finding : findings) {
      const bool is_known =
          std::ranges::any_of(all, [&](const auto& f) { return is_same_breach(f, finding); });
      if (!is_known) all.push_back(std::move(finding));
    }
  }
  return all;
}

std::string reproduce_text(const std::string& file, const BackendChoice& choice) {
  return fmt::format("shardcheck replay {}{}", shell_quoted(file), flags_text(choice));
}

}  // namespace shardcheck
