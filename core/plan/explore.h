// Exploration: every result that the streams of a plan can come to. Two schedules that order all conflicting
// ops alike leave the same bytes, and are one class; streams know no branches, so a class is a choice of an
// order for every two conflicting ops that nothing orders, as long as the choices form no circle. Each choice
// is made once, nothing is run twice, and no choice leads nowhere: the closure of what is chosen says what is
// still free. A collective, as any op, may come as late as its stream lets it. Next: properties/schedules.h
// runs the classes; hostile_allocator.h is the other adversary of wgrad 6.1.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// One schedule of a class.
struct ScheduleClass {
  std::vector<OpIndex> order;  ///< all ops of the plan, each once, as close to the plan as the class allows
  /// What makes it another than the plan's: of each pair, the first, though earlier in the plan, comes later.
  std::vector<std::pair<OpIndex, OpIndex>> reversed;
};

struct Explored {
  std::int64_t pairs = 0;    ///< of conflicting ops that nothing orders
  std::int64_t classes = 0;  ///< visited
  bool are_all = false;      ///< there are no others
};

/// Visits the plan's own class first, then those with one reversed pair, with two and so on, at most `most`
/// of them. Ops are whole: what differs only by when a rank of an op runs is one class. Conflict is that of
/// races.h. Past 1024 ops that race the rest keeps the order of the plan, and are_all is false.
/// Time: a class costs the plan's ops, and the racing ones squared.
Explored explore(const Plan& plan, std::int64_t most, const std::function<void(const ScheduleClass&)>& visit);

}  // namespace shardcheck
