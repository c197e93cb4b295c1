#include "tools/shardcheck/replaying.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "properties/comparison.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

bool is_same_breach(const Finding& a, const Finding& b) {
  const auto key = [](const Finding& f) {
    return std::tie(f.clause, f.sentence, f.op.value, f.rank, f.step, f.parameter, f.element);
  };
  return key(a) == key(b);
}

std::vector<Finding> findings_of(std::span<const Property* const> properties, const Scenario& scenario,
                                 Backend& backend) {
  std::vector<Finding> all;
  for (const Property* property : properties) {
    for (Finding& finding : ask(*property, backend, scenario)) {
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
