// The page of `shardcheck audit --html`: one self-contained file that tells a verdict as a colleague would:
// what broke, every contribution as every rank reads it, the collectives of the ranks side by side with the
// first difference, the clauses. Its data are a trace and its verdict; the script only draws. Next:
// page_template.h.
#pragma once

#include <string>

#include "tools/shardcheck/audit/audit_report.h"

namespace shardcheck {

/// What a page shows of a large trace, wrong gradients and the first difference first; it says what is left
/// out.
inline constexpr std::size_t kMostGradientsOnPage = 40;
inline constexpr std::size_t kMostContributionsOnPage = 256;   // of a gradient
inline constexpr std::ptrdiff_t kMostCollectivesOnPage = 200;  // of a group
inline constexpr std::size_t kMostFindingsOnPage = 60;

/// The whole page.
std::string audit_page(const Audited& audited);

/// The JSON that the page draws.
std::string audit_page_data(const Audited& audited);

}  // namespace shardcheck
