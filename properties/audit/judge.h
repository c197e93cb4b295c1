// judge: the verdict on a trace, clause by clause. It puts together what values, agreement, schedule and
// probing find. Next: tools/shardcheck/audit.cpp prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/contract/finding.h"
#include "properties/audit/trace.h"

namespace shardcheck {

struct AuditFinding {
  Finding finding;
  std::vector<std::string> signatures;
};

enum class ClauseWord : std::uint8_t {
  held,
  broken,
  open,      ///< something is wrong, and from outside nobody can tell whether it is this
  not_seen,  ///< the case does not exercise it, or nothing of it is in the trace
};
std::string_view name_of(ClauseWord word);

struct ClauseVerdict {
  std::string_view clause;
  ClauseWord word = ClauseWord::not_seen;
  std::string because;
};

struct AuditVerdict {
  std::vector<AuditFinding> findings;
  std::vector<ClauseVerdict> clauses;
  std::string refusal;  ///< the framework raised an exception, and nothing else is wrong: what it said
  std::int64_t gradients = 0, parameters = 0, collectives = 0, probes = 0;  ///< that were judged

  bool is_broken() const { return !findings.empty(); }
};

AuditVerdict judge(const AuditTrace& trace);

}  // namespace shardcheck
