// The search of `shardcheck audit --run`: draws cases, launches the probe on them, judges, shrinks what fails
// on the real framework, and leaves a case and a stand-alone script for every kind of failure.
#pragma once

#include <string>
#include <vector>

#include "properties/audit/random_case.h"
#include "tools/shardcheck/audit/audit_report.h"
#include "tools/shardcheck/audit/launch.h"

namespace shardcheck {

struct AuditSearch {
  AuditRoom room;
  ProbeSetup setup;
  std::int64_t tries = 20;    ///< random cases
  std::int64_t minutes = 10;  ///< for all of it
  std::int64_t kinds = 3;     ///< of failures that are shrunk
  std::uint64_t seed = 1;
  std::filesystem::path out;  ///< new; keeps all traces
};

/// A kind of failure, shrunk.
struct AuditFailure {
  Audited first, smallest;
  std::int64_t seen = 0;      ///< cases that failed like this
  std::int64_t launched = 0;  ///< cases that were run to shrink it
  std::filesystem::path case_file, script;
  Confirmation confirmation;
};

struct AuditRun {
  std::vector<Audited> all;
  std::vector<AuditFailure> failures;
  bool was_cut = false;  ///< the time was over, or an interrupt came
  double seconds = 0;
};

/// Progress goes to session.err. Throws as launch().
AuditRun run_audit(const AuditSearch& search, Session& session);

std::string run_text(const Terminal& terminal, const AuditSearch& search, const AuditRun& run);

}  // namespace shardcheck
