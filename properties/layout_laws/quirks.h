// Quirks: where a system breaks a law by its own code, and shardcheck reproduces it. Each is declared with
// the condition under which it shows and the smallest model that shows it; a finding that a quirk explains is
// marked with its reference, and a quirk that no longer shows is a failure of our tests. Next: judge.h.
#pragma once

#include <span>
#include <string_view>

#include "properties/layout_laws/claim.h"

namespace shardcheck::laws {

struct Quirk {
  std::string_view layout;     ///< name in the registry
  std::string_view law;        ///< "L7"
  std::string_view reference;  ///< "B15"
  std::string_view condition;  ///< one sentence
  /// True when the quirk explains this finding of this claim.
  bool (*explains)(const Claim& claim, const LawFinding& finding);
  Asked (*smallest)();  ///< a model that shows it
};

std::span<const Quirk> quirks();

/// Marks the findings that a quirk explains.
void mark_quirks(const Claim& claim, Findings& findings);

}  // namespace shardcheck::laws
