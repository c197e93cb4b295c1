// Diagnosis: why a finding is there. The history of the bytes, the first op at which they are wrong, what is
// in them, which choices of the scenario it depends on, and what it resembles. `explain` prints one. The
// pieces are files of this folder: history, first_wrong, counterfactuals, plan_repairs (of FP8 weights),
// signatures, lookalikes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "properties/diagnosis/counterfactuals.h"
#include "properties/diagnosis/history.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Diagnosis {
  Finding finding;  ///< completed: op, op_text, stream, microbatch, history, provenance
  std::vector<ByteEvent> history;
  std::optional<OpIndex> last_right, first_wrong;
  std::string first_wrong_because;  ///< how the first wrong op is known
  std::vector<Counterfactual> counterfactuals;
  std::vector<std::string> signatures;
  std::vector<std::string> lookalikes;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Everything that can be said. `finding` is one that the scenario showed on the backend; where several
/// processes hold the ranks, all of them make this call.
Diagnosis diagnose(const Scenario& scenario, const Finding& finding, Backend& backend);

/// What every failure report needs: the first wrong op, the history and the provenance. A finding that names
/// no element is left as it is.
void complete(Finding& finding, const Scenario& scenario, Backend& backend);

}  // namespace shardcheck
