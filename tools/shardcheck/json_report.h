// JSON for scripts. Fields may be added, none is renamed. Every verb's document ends with a newline.
#pragma once

#include <string>

#include "tools/shardcheck/check_result.h"

namespace shardcheck {

/// {"command", "verdict": "held" | "broken" | "gave_up", "exit_status", "interrupted", "backend", "against",
/// "profile", "seed", "seconds", "cases", "kept": [{"file", "moved_to", "findings"}], "properties": [{"id",
/// "clauses", "verdict", "cases", "seconds", "coverage": {situation: cases}, "missing",
/// "failure":
/// {"case", "shrinks", "file", "scenario"}, "findings": [...]}]}; a finding is that of
/// core/contract/finding.h.
std::string json_report(const CheckResult& result);

}  // namespace shardcheck
