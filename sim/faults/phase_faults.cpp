// Faults of storage that gradients share with weights (W36): not cleaned, not staged, cleaned too early.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_of_weights(const PlanEdit& edit, std::int32_t i) {
  return i >= 0 && edit.plan().ops[static_cast<std::size_t>(i)].why.purpose == Purpose::weights;
}
bool is_copy_out(PlanEdit& edit, std::int32_t i) {
  return is_of_weights(edit, i) && std::holds_alternative<Copy>(edit.op(i).action) &&
         edit.role(edit.op(i), 0) == BufferRole::main_grad;
}

/// The buffer is not zeroed after the weights were taken out.
bool never_cleaned(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 1; i < edit.size(); ++i) {
    if (is_copy_out(edit, i - 1)) edit.erase(i);
  }
  return edit.commit();
}

/// A gather that is forced again takes what the buffer holds for staged weights.
bool never_staged(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool stages = is_of_weights(edit, i) && std::holds_alternative<Copy>(edit.op(i).action) &&
                        edit.role(edit.op(i), 1) == BufferRole::main_grad;
    if (stages) edit.erase(i);
  }
  return edit.commit();
}

/// The zeros of the new step come before the weights were taken out.
bool cleaned_too_early(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 1; i < edit.size(); ++i) {
    if (!is_copy_out(edit, i - 1)) continue;
    edit.insert_before(i - 1, edit.op(i));
    edit.erase(i);
  }
  return edit.commit();
}

void staged(Scenario& s) {
  prepare::two_ranks(s);
  prepare::reference(s);
  s.strategy = Strategy::megatron_ddp_zero1;
  s.fp8.reset();
  s.zeroing = true;
  s.outer = 1;
  prepare::one_stage(s);
  prepare::one_tensor_rank(s);
  s.loop.aborts.clear();
  s.loop.resumes.clear();
  prepare::fused(s);
  prepare::repair(s);
  s.staging = true;
}

}  // namespace

void add_phase_faults(std::vector<Fault>& zoo) {
  zoo.insert(zoo.end(),
             {{"B-55", "NVIDIA/Megatron-LM#5487",
               "the gradient buffer that staged the weights is not zeroed before the first write", "W36",
               staged, never_cleaned},
              {"B-55b", "NVIDIA/Megatron-LM#5236", "weights are gathered again without being staged first",
               "W36", staged, never_staged},
              {"M-W36", "ours: no public report", "the gradient buffer is zeroed before the weights are out",
               "W36", staged, cleaned_too_early}});
}

}  // namespace shardcheck
