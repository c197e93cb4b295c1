#include "properties/owner_rows.h"

#include "sim/owners/rows.h"
#include "sim/planner/planner.h"

namespace shardcheck {

const std::vector<std::string>& owner_row_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const OwnerRow& row : owner_rows()) all.push_back(describe(row));
    return all;
  }();
  return names;
}

std::vector<std::size_t> owner_rows_of(const Scenario& scenario) {
  const RowSet taken = plan_of(scenario).rows;
  const auto rows = owner_rows();
  std::vector<std::size_t> reached;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].strategy == scenario.strategy && taken.test(static_cast<std::size_t>(rows[i].row)))
      reached.push_back(i);
  }
  return reached;
}

}  // namespace shardcheck
