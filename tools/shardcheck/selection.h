// Selection: the properties that names on the command line mean.
#pragma once

#include <string>
#include <vector>

#include "properties/counterexample.h"
#include "properties/property.h"

namespace shardcheck {

/// A name is a property's id, or a clause's, which means every property that claims it. Without names: all
/// properties. In the order of the table, each once. Throws Error(bad_input) and names the nearest known
/// ones.
std::vector<const Property*> selected_properties(const std::vector<std::string>& names);

/// Those of the selected properties that judge a case like this one. Throws Error(bad_input) when there is
/// none.
std::vector<const Property*> properties_for(const Counterexample& given,
                                            const std::vector<std::string>& names);

}  // namespace shardcheck
