// Report: findings and verdicts as people read them. Each function returns text that ends with a newline,
// headline() aside. Next: json_report.h and junit_report.h, which write the same for machines.
#pragma once

#include <span>
#include <string>

#include "core/contract/finding.h"
#include "sim/scenario/scenario.h"
#include "tools/shardcheck/check_result.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck {

/// "W4 Legal beta: a write with beta = 0 erases contributions".
std::string headline(const Finding& finding);

/// "scenario", or the kind of the case.
std::string_view noun_of(const Counterexample& counterexample);

/// A labelled paragraph: "  where      op 17 ...", wrapped to the terminal.
std::string labelled(const Terminal& terminal, std::string_view label, std::string_view text);

/// The same for a command: on one line however long it is, so that it can be copied.
std::string labelled_command(const Terminal& terminal, std::string_view label, std::string_view command);

/// The finding with its evidence: clause, what happened, where, values, provenance, history.
std::string finding_text(const Terminal& terminal, const Finding& finding);

/// A line for each kind of breach among `others`: the sentence, its first place, and in how many more it
/// happened.
std::string also_text(const Terminal& terminal, std::span<const Finding> others);

/// The first finding in full and a line for each kind of the others.
std::string findings_text(const Terminal& terminal, std::span<const Finding> findings);

/// A property's failure: its findings, the scenario in one paragraph, how it was shrunk, the command that
/// shows it again. Where the scenario could not be saved, its JSON.
std::string failure_text(const Terminal& terminal, const PropertyResult& result);

/// The columns that property_line() fills, found before the first case runs.
struct LineWidths {
  std::size_t id = 0, clauses = 0;
};
LineWidths widths_of(std::span<const Property* const> properties);

/// "legal-beta  W4 W17 W35   7,058 cases   1.9 s   24/24 situations   held".
std::string property_line(const Terminal& terminal, const PropertyResult& result, const LineWidths& widths);

/// "held: 17 properties, 120,003 cases in 41 s (2,912 a second), seed 1, cpu (ideal)".
std::string verdict_line(const Terminal& terminal, const CheckResult& result);

}  // namespace shardcheck
