// What each kind of op means on the GPUs: the op's ranks, GPU by GPU, as launches, library calls and
// collectives. Next: elementwise.h, gemm.h, block_unit.h and collectives.h (the families of ops), graphs.h.
#pragma once

#include "backends/cuda/collectives.h"
#include "backends/cuda/gemm.h"
#include "backends/cuda/graphs.h"
#include "backends/cuda/machine.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/plan_events.h"
#include "core/plan/plan.h"

namespace shardcheck::gpu {

/// What ops are enqueued with.
struct Units {
  explicit Units(const CudaOptions& options)
      : machine(options), memory(machine), gemm(options), collectives(machine) {}

  Machine machine;
  Memory memory;
  GemmUnit gemm;
  CollectiveUnit collectives;
  PlanEvents events;
};

/// Enqueues the op on the GPUs of this process.
void execute_op(Units& units, const Plan& plan, const Op& op);

/// Decides what a capture of the op must not decide.
void prepare_op(Units& units, const Plan& plan, const Op& op);

/// What a graph is captured from.
GraphWork work_of(Units& units, const Plan& plan, const Op& op);

}  // namespace shardcheck::gpu
