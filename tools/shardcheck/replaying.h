// Replaying: one case through properties, without a search and without shrinking.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/counterexample.h"
#include "properties/property.h"
#include "tools/shardcheck/backend_choice.h"

namespace shardcheck {

/// Those of the properties that judge cases of this kind.
std::vector<const Property*> of_kind(std::span<const Property* const> properties, const CaseKind* kind);

/// What the case breaks, each breach once although several properties may see it. Properties of other kinds
/// are not asked.
std::vector<Finding> findings_of(std::span<const Property* const> properties, const Counterexample& given,
                                 Backend& backend);

/// The same breach, however it was found.
bool is_same_breach(const Finding& a, const Finding& b);

/// "shardcheck replay FILE --backend cuda".
std::string reproduce_text(const std::string& file, const BackendChoice& choice);

}  // namespace shardcheck
