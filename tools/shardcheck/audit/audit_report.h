// The verdict on a trace of a real framework, as people read it and as JSON. Next: ../audit.cpp.
#pragma once

#include <string>
#include <vector>

#include "properties/audit/judge.h"
#include "tools/shardcheck/session.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck {

/// A trace that was judged.
struct Audited {
  std::string folder;
  AuditTrace trace;
  AuditVerdict verdict;
};

/// The first finding of every clause and parameter comes first; the rest is the same on other ranks.
std::vector<AuditFinding> telling_first(const AuditVerdict& verdict);

/// "held", "BROKEN", "refused".
std::string_view word_of(const AuditVerdict& verdict);

/// 0 held, 1 broken, 4 nothing to judge because the framework refused.
ExitStatus exit_of(const AuditVerdict& verdict);

/// "fsdp2, sync every on 2 ranks (cuda; torch 2.11.0+cu130)".
std::string subject_of(const AuditTrace& trace);

/// Findings in full with their signatures, the clauses, how every rank ended, the verdict line.
std::string audit_text(const Terminal& terminal, const Audited& audited);

/// A line for each trace.
std::string audits_table(const Terminal& terminal, const std::vector<Audited>& all);

/// One JSON object: verdict, exit_status, traces.
std::string audits_json(const std::vector<Audited>& all);

}  // namespace shardcheck
