// The owner's post-accumulate hook: what it does with the gradient that autograd holds. The reference hook
// asks the touched bit of the lease; today's hooks ask grad_added_to_main_grad, which is sticky in DDP and
// rewritten by every unshard in FSDP (wgrad 3.1, 3.4, 4.2).
#pragma once

#include "sim/owners/owner.h"

namespace shardcheck {

/// True when today's FSDP postpones the hook of this parameter to the end of backward, because it is
/// shared, or because nothing of it goes through autograd.
bool is_hook_postponed(const Job& job, std::int32_t parameter);

/// Runs the hook of the parameter on all ranks, with the fold that follows from it.
void run_hook(Job& job, Owner& owner, std::int32_t parameter);

}  // namespace shardcheck
