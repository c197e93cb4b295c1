// Faults of readiness: a parameter is counted too early, or its bucket does not wait for the count.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

/// True for what an owner does from a hook to the end of a bucket's reduction.
bool is_of_launch(const Op& op) {
  switch (op.why.purpose) {
    case Purpose::zero:
    case Purpose::scale:
    case Purpose::stage:
    case Purpose::reduce:
    case Purpose::reduce_outer:
    case Purpose::unstage:
    case Purpose::accumulate: return true;
    default: break;
  }
  return std::holds_alternative<Record>(op.action) || std::holds_alternative<Wait>(op.action) ||
         std::holds_alternative<CloseLease>(op.action);
}

bool is_count_of_first(const Op& op) {
  return std::holds_alternative<Ready>(op.action) && op.why.parameter.value == 0;
}

/// The hook runs at the time of the data gradient: the first parameter is counted, and its bucket reduced,
/// before the delayed weight gradient is written.
bool counted_before_delayed_write(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<std::int32_t> writes;  // since the last count
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<BeginMicrobatch>(op.action)) writes.clear();
    const bool is_write = op.why.parameter.value == 0 && std::holds_alternative<Gemm>(op.action) &&
                          edit.role(op, 2) != BufferRole::param_grad;
    if (is_write) writes.push_back(i);
    if (!is_count_of_first(op)) continue;
    std::int32_t end = i + 1;
    while (end < edit.size() && is_of_launch(edit.op(end))) ++end;
    for (const std::int32_t write : writes) {
      edit.insert_before(end, edit.op(write));
      edit.erase(write);
    }
    writes.clear();
  }
  return edit.commit();
}

/// Buckets are reduced without a look at the counts, which follow at the end of the backward.
bool counted_after_reduction(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<std::int32_t> counts;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<Ready>(op.action)) counts.push_back(i);
    const bool is_end =
        std::holds_alternative<BeginMicrobatch>(op.action) || std::holds_alternative<Finish>(op.action);
    if (!is_end) continue;
    for (const std::int32_t count : counts) {
      edit.insert_before(i, edit.op(count));
      edit.erase(count);
    }
    counts.clear();
  }
  return edit.commit();
}

void delayed(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  s.execution = Execution::delayed;
}
void reduced(Scenario& s) {
  prepare::two_ranks(s);
  prepare::reference(s);
  prepare::fused(s);
  prepare::repair(s);
  s.parameters.front().expert = false;
}

}  // namespace

void add_readiness_faults(std::vector<Fault>& zoo) {
  zoo.insert(zoo.end(),
             {
                 {"B-25", "NVIDIA/TransformerEngine#1976, #2142 (K05a)",
                  "the hook runs at dgrad time: the parameter counts as ready before its delayed gradient "
                  "is written",
                  "W20", delayed, counted_before_delayed_write},
                 {"M-W20", "ours: no public report",
                  "buckets are reduced without waiting until their parameters count as ready", "W20", reduced,
                  counted_after_reduction},
             });
}

}  // namespace shardcheck
