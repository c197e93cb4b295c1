// Faults of GTP distributed weights, whose producer reduces and adds their gradients itself (Q11).
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"
#include "sim/faults/replan.h"

namespace shardcheck {
namespace {

bool is_of_first(const Op& op, Purpose purpose) {
  return op.why.parameter.value == 0 && op.why.purpose == purpose;
}

/// The product is added to what the scratch held before.
bool scratch_accumulated(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool is_product =
        is_of_first(edit.op(i), Purpose::write) && std::holds_alternative<Gemm>(edit.op(i).action);
    if (is_product) std::get<Gemm>(edit.change(i).action).accumulate = true;
  }
  return edit.commit();
}

/// Sums where the ranks that share the weight have to average: the owner divides by its own ranks alone.
bool shards_summed(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_of_first(edit.op(i), Purpose::reduce_shards))
      std::get<Communicate>(edit.change(i).action).reduction = Reduction::sum;
  }
  return edit.commit();
}

/// The scratch of the last microbatch goes back before its rows are added.
bool rows_not_added(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (is_of_first(op, Purpose::accumulate) && op.why.microbatch == s.microbatches - 1) edit.erase(i);
  }
  return edit.commit();
}

bool shards_reduced_twice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_of_first(edit.op(i), Purpose::reduce_shards)) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// The addition does not wait for the reduction, which is on a stream of its own.
bool rows_added_early(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_of_first(edit.op(i), Purpose::reduce_shards)) continue;
    for (std::int32_t next = i + 1; !is_of_first(edit.op(next), Purpose::accumulate); ++next) {
      if (std::holds_alternative<Wait>(edit.op(next).action)) edit.erase(next);
    }
  }
  return edit.commit();
}

/// The first parameter is distributed over two ranks of four, and its uses have tokens everywhere.
void distributed(Scenario& s) {
  prepare::reference(s);
  prepare::one_stage(s);
  prepare::one_tensor_rank(s);
  s.fp8.reset();
  if (!is_megatron_ddp(s.strategy))
    s.strategy = has_leases(s.strategy) ? Strategy::megatron_ddp_zero1 : Strategy::megatron_ddp;
  prepare::without_switches(s);
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
  s.ranks = 4;
  s.expert_parallel = 1;
  s.gtp = 2;
  for (ScenarioParameter& p : s.parameters) p.expert = false;
  prepare::uses(s, {Producer::distributed});
  ScenarioParameter& first = s.parameters.front();
  first.groups = 1;
  first.shape[0] += first.shape[0] % s.gtp;
  s.staging = false;
  s.execution = Execution::eager;
}
void distributed_mean(Scenario& s) {
  distributed(s);
  s.loss = Loss::mean;
}
void distributed_overlapped(Scenario& s) {
  distributed(s);
  prepare::two_steps(s);
  s.overlap = true;
}

}  // namespace

void add_distributed_faults(std::vector<Fault>& zoo) {
  zoo.insert(zoo.end(),
             {
                 {"B-19", "NVIDIA/Megatron-LM#6565",
                  "autograd's hook folds the placeholder of a distributed weight, which nobody zeroed", "W14",
                  distributed, with_lapse<Lapse::hooks_distributed>},
                 {"B-39-gtp", "NVIDIA/Megatron-LM#7160",
                  "a distributed weight is scaled by 1/ranks of its reduction group instead of 1/all ranks",
                  "W24", distributed_mean, shards_summed},
                 {"M-W20-gtp", "ours: no public report",
                  "a distributed weight counts as ready before its rows are added", "W20",
                  distributed_overlapped, with_lapse<Lapse::counts_early>},
                 {"M-W21-gtp", "ours: no public report",
                  "the rows of a distributed weight are reduced and not added in the last microbatch", "W21",
                  distributed, rows_not_added},
                 {"M-W23-gtp", "ours: no public report",
                  "the rows of a distributed weight are added without waiting for their reduction", "W23",
                  distributed_overlapped, rows_added_early},
                 {"M-W27-gtp", "ours: no public report",
                  "the ranks that share a distributed weight reduce its gradient twice", "W27", distributed,
                  shards_reduced_twice},
                 {"M-W4-gtp", "ours: no public report",
                  "the product of a distributed weight is added to what its scratch held", "W4", distributed,
                  scratch_accumulated},
             });
}

}  // namespace shardcheck
