// Closed form: the tables of shard-layouts 5 over the pieces of a planned step. They know W, M and sizes, not
// ops; a planned step must come to the same bytes and the same seconds of collectives. Next: strategy.h, the
// formulas.
#pragma once

#include "sim/cost/step.h"

namespace shardcheck::cost {

struct ClosedForm {
  Strategy strategy = Strategy::ddp;
  double kept = 0;         ///< bytes of weights, gradients and optimizer state
  double sent = 0;         ///< bytes a step
  double collectives = 0;  ///< seconds, one after another
};
ClosedForm closed_form(const StepJob& job);

/// True when both are the same number, as far as sums of rounded products can say: to a part in 2^40.
bool agrees(double planned, double closed);

}  // namespace shardcheck::cost
