#include "core/plan/rank_by_rank.h"

namespace shardcheck {

RankByRank rank_by_rank(const Plan& plan) {
  RankByRank split{.plan = plan, .begins = {}};
  std::vector<Op>& ops = split.plan.ops;
  ops.clear();
  const auto mark = [&] { split.begins.push_back(OpIndex{static_cast<std::int32_t>(ops.size())}); };
  for (const Op& op : plan.ops) {
    mark();
    if (std::holds_alternative<Communicate>(op.action) || op.ranks < 2) {
      ops.push_back(op);
      continue;
    }
    for (std::int32_t i = 0; i < op.ranks; ++i) {
      Op one = op;
      one.first_rank = op.first_rank + i;
      one.ranks = 1;
      one.first_view = static_cast<std::int32_t>(split.plan.view_arena.size());
      for (int operand = 0; operand < op.operands; ++operand)
        split.plan.view_arena.push_back(plan.operand(op, operand)[static_cast<std::size_t>(i)]);
      ops.push_back(one);
    }
  }
  mark();
  return split;
}

}  // namespace shardcheck
