// A fingerprint as JSON, which two machines or two drivers are compared by. Fields may be added, none is
// renamed. Next: properties/fingerprint/fact.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/fingerprint/fact.h"

namespace shardcheck {

inline constexpr int kFingerprintSchema = 1;

/// {"schema", "machine": {"backend", "device", "profile", "fold"}, "versions": [...], "computed_by": [...],
/// "facts": [{"subject", "name", "value" or null, "how", "probes": [{"op", "inputs": [{"name", "type",
/// "codes"}], "outputs"}]}]}. Ends with a newline.
std::string to_json(const Fingerprint& fingerprint, const std::vector<std::string>& versions);

/// Reads it back, probes and all. Throws Error(bad_input) that names file, field and what would be right.
Fingerprint read_fingerprint(const std::filesystem::path& file);

}  // namespace shardcheck
