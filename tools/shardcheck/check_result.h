// CheckResult: what `check` and `replay` found, as a value. The text on the terminal, --json and --junit are
// three ways to write it (report.h, json_report.h, junit_report.h).
#pragma once

#include <string>
#include <vector>

#include "properties/runner.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/session.h"

namespace shardcheck {

struct PropertyResult {
  const Property* property = nullptr;
  PropertyReport report;
  std::string file;       ///< holds the failing scenario; empty when it was not saved
  std::string reproduce;  ///< the command that shows the failure again
};

/// A failure of an earlier run, run again.
struct KeptResult {
  std::string file;      ///< where it was
  std::string moved_to;  ///< where it is since it holds again; empty while it fails
  std::vector<Finding> findings;
};

enum class Verdict { held, broken, gave_up };
std::string_view name_of(Verdict verdict);

struct CheckResult {
  std::string verb = "check";
  BackendChoice backend;
  std::uint64_t seed = 0;
  double seconds = 0;
  bool is_search = true;  ///< random cases, whose required coverage counts
  bool is_interrupted = false;
  std::vector<KeptResult> kept;
  std::vector<PropertyResult> properties;
  std::vector<std::string> skipped;  ///< ids of properties that an interrupt left out
};

std::int64_t cases_of(const CheckResult& result);

/// Broken when anything is. Gave up: required coverage is missing, or an interrupt came first.
Verdict verdict_of(const PropertyResult& result);
Verdict verdict_of(const CheckResult& result);
ExitStatus exit_of(const CheckResult& result);

}  // namespace shardcheck
