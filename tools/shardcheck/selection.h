// Selection: the properties that names on the command line mean.
#pragma once

#include <string>
#include <vector>

#include "properties/property.h"

namespace shardcheck {

/// A name is a property's id, or a clause's, which means every property that claims it. Without names: all
/// properties. In the order of the table, each once. Throws Error(bad_input) and names the nearest known
/// ones.
std::vector<const Property*> selected_properties(const std::vector<std::string>& names);

}  // namespace shardcheck
