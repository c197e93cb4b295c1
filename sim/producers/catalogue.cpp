#include "sim/producers/catalogue.h"

namespace shardcheck {

std::span<const ProducerKind> producer_kinds() {
  static constexpr ProducerKind kinds[] = {
      {"Q1", "fused accumulate", "producer fused", "beta = 1: zeroed destinations, later uses of a lease"},
      {"Q2", "fused overwrite", "producer fused", "beta = 0: the first use of a lease"},
      {"Q3", "fused, no flag attribute", "producer unflagged",
       "autograd calls no hook: the bucket waits for the end of the backward or the step (M-W20-hooks)"},
      {"Q4", "unfused", "producer unfused", "a real gradient through autograd, folded by the hook"},
      {"Q5", "alias return", "fault B-02", "illegal: the producer returns a view of main_grad"},
      {"Q6", "delayed fused", "producer fused, execution delayed",
       "written after all data gradients of the microbatch; placeholder and flag come before"},
      {"Q7", "delayed unfused", "producer assigned",
       "backward_dw assigns param.grad after the backward; the only use of its parameter"},
      {"Q8", "deferred embedding", "producer deferred",
       "the writes of all microbatches are drained after the last backward, before the reduction (W32)"},
      {"Q9", "grouped", "uses with grouped true",
       "one call writes all its experts; today's modes read the flags of the first. Experts without tokens "
       "are "
       "token_counts of 0 for a parameter"},
      {"Q10", "single grouped weight", "groups of a parameter",
       "several experts in one weight: a product for each into its rows, one flag and one hook for all"},
      {"Q11", "GTP distributed weight", "producer distributed, mesh.gtp",
       "a scratch with beta = 0, reduced over the ranks that share the weight and added by the producer, "
       "which "
       "then tells the owner; autograd calls no hook"},
      {"Q12", "frozen weight", "trainable false, thaws_at", "no product, no flag, nothing for autograd"},
      {"Q13", "bias, norm", "a 1-D shape", "never fused, always folded"},
      {"Q14", "unused this microbatch", "schedule.silent", "no event at all, on any ranks and microbatches"},
      {"Q15", "CUDA-graph replay", "execution graph",
       "fused and unfused uses are replayed from static inputs, with the beta of the first execution"},
      {"Q16", "accumulate through .grad", "producer fused, write_mode R8",
       "a proposal: the product is added to param.grad, in the type of local sums, and the hook folds that"},
  };
  return kinds;
}

}  // namespace shardcheck
