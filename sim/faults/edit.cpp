#include "sim/faults/edit.h"

#include <algorithm>

namespace shardcheck {

void PlanEdit::erase(std::int32_t index) {
  erased_[static_cast<std::size_t>(index)] = true;
  changed_ = true;
}

Op PlanEdit::with_views(Op op, std::int8_t operands,
                        const std::function<View(std::int8_t operand, std::int32_t i)>& view_of) {
  std::vector<View> views;
  for (std::int8_t j = 0; j < operands; ++j) {
    for (std::int32_t i = 0; i < op.ranks; ++i) views.push_back(view_of(j, i));
  }
  op.operands = operands;
  op.first_view = static_cast<std::int32_t>(plan_.view_arena.size());
  plan_.view_arena.insert(plan_.view_arena.end(), views.begin(), views.end());
  return op;
}

Op PlanEdit::with_ranks(Op op, const std::vector<Rank>& ranks,
                        const std::function<View(std::int8_t operand, std::int32_t i)>& view_of) {
  op.first_rank = static_cast<std::int32_t>(plan_.rank_arena.size());
  op.ranks = static_cast<std::int32_t>(ranks.size());
  plan_.rank_arena.insert(plan_.rank_arena.end(), ranks.begin(), ranks.end());
  return with_views(op, op.operands, view_of);
}

bool PlanEdit::commit() {
  changed_ |= !insertions_.empty();
  if (!changed_) return false;
  std::stable_sort(insertions_.begin(), insertions_.end(), [](const Insertion& a, const Insertion& b) {
    return std::pair(a.at, a.after) < std::pair(b.at, b.after);
  });
  std::vector<Op> ops;
  std::vector<std::int32_t> moved;  // an old index: where the op, or what follows it, begins now
  auto next = insertions_.begin();
  for (std::int32_t i = 0; i < size(); ++i) {
    for (; next != insertions_.end() && next->at == i && !next->after; ++next) ops.push_back(next->op);
    moved.push_back(static_cast<std::int32_t>(ops.size()));
    if (!erased_[static_cast<std::size_t>(i)]) ops.push_back(op(i));
    for (; next != insertions_.end() && next->at == i; ++next) ops.push_back(next->op);
  }
  for (; next != insertions_.end(); ++next) ops.push_back(next->op);  // before the end of the plan
  moved.push_back(static_cast<std::int32_t>(ops.size()));
  plan_.ops = std::move(ops);
  const auto follow = [&](OpIndex& index) { index.value = moved[static_cast<std::size_t>(index.value)]; };
  follow(planned_.setup_end);
  for (OpIndex& finish : planned_.finishes) follow(finish);
  return true;
}

}  // namespace shardcheck
