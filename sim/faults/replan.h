// A fault that is a lapse: the job is planned again, and forgets one thing (sim/planner/lapse.h).
#pragma once

#include <algorithm>

#include "sim/planner/planner.h"

namespace shardcheck {

inline bool have_equal_ops(const Plan& a, const Plan& b) {
  const auto is_equal = [](const Op& x, const Op& y) {
    const auto* gx = std::get_if<Gemm>(&x.action);
    const auto* gy = std::get_if<Gemm>(&y.action);
    const bool beta = gx == nullptr || gy == nullptr || gx->accumulate == gy->accumulate;
    return x.action.index() == y.action.index() && beta && x.why.rule == y.why.rule;
  };
  return std::ranges::equal(a.ops, b.ops, is_equal) && a.view_arena == b.view_arena &&
         a.rank_arena == b.rank_arena;
}

/// The plan of a job with that lapse; false where it shows nowhere.
inline bool replan(Planned& planned, const Scenario& s, Lapse lapse) {
  Planned wrong = plan_of(s, lapse);
  if (have_equal_ops(planned.plan, wrong.plan)) return false;
  wrong.plan.poison = planned.plan.poison;
  planned = std::move(wrong);
  return true;
}

template <Lapse lapse>
bool with_lapse(Planned& planned, const Scenario& s) {
  return replan(planned, s, lapse);
}

}  // namespace shardcheck
