// The page of `shardcheck explain --html`: one self-contained file that tells a finding as a colleague would:
// what broke, the numbers, the step on its streams with the guilty op and the missing order, the history of
// the bytes, what would mend it. Its data is a Diagnosis and a plan; the script only draws. Next:
// page_template.h.
#pragma once

#include <string>

#include "core/plan/races.h"
#include "properties/diagnosis/diagnosis.h"

namespace shardcheck {

struct Explained {
  const Scenario& scenario;
  const Diagnosis& diagnosis;
  const Plan& plan;  ///< with the scenario's fault
  std::string reproduce;
};

/// Ops and ranks that a page draws, around the finding; a larger plan says on the page what is left out.
inline constexpr std::int32_t kMostOpsOnPage = 600;
inline constexpr std::int32_t kMostRanksDrawn = 8;

/// The whole page.
std::string explain_page(const Explained& explained);

/// The JSON that the page draws.
std::string explain_data(const Explained& explained);

}  // namespace shardcheck
