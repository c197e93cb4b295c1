#include "tools/shardcheck/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/contract/clauses.h"
#include "core/error.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck {
namespace {

bool claims(const Property& property, const std::string& clause) {
  return std::ranges::find(property.clauses, clause) != property.clauses.end();
}

Error unknown_property(const std::string& name) {
  if (find_clause(name) != nullptr)
    return bad_input("property", name +
                                     " is a clause that no property claims; `shardcheck list clauses` "
                                     "shows what observes it");
  std::vector<std::string> known;
  for (const Property& property : properties()) {
    known.emplace_back(property.id);
    for (const auto clause : property.clauses) known.emplace_back(clause);
  }
  return bad_input("property",
                   unknown_name({name, "property", std::move(known), "shardcheck list properties"}));
}

}  // namespace

std::vector<const Property*> selected_properties(const std::vector<std::string>& names) {
  std::set<const Property*> meant;
  for (const std::string& name : names) {
    bool any = false;
    for (const Property& property : properties()) {
      if (property.id != name && !claims(property, name)) continue;
      meant.insert(&property);
      any = true;
    }
    if (!any) throw unknown_property(name);
  }
  std::vector<const Property*> selected;
  for (const Property& property : properties()) {
    if (names.empty() || meant.contains(&property)) selected.push_back(&property);
  }
  return selected;
}

std::vector<const Property*> properties_for(const Counterexample& given,
                                            const std::vector<std::string>& names) {
  std::vector<const Property*> selected = selected_properties(names);
  std::erase_if(selected, [&](const Property* each) { return each->kind != given.kind; });
  if (selected.empty())
    throw bad_input("property", fmt::format("{} judges no {}; name another property, or none for all that do",
                                            fmt::join(names, ", "),
                                            given.kind == nullptr ? "training step" : given.kind->name));
  return selected;
}

}  // namespace shardcheck
