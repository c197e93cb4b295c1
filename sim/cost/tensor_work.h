// Tensor work: what one tensor takes in forward, in the data gradient and in the weight gradient. A matrix is
// a product with as many rows as tokens see it; a table is looked up; vectors are read and written with the
// activations that they scale or shift. Attention scores are not in it. Next: step.h.
#pragma once

#include "sim/cost/step.h"

namespace shardcheck::cost {

/// Bytes an element of the destination that a weight gradient is written to.
double gradient_bytes(const StepJob& job);

/// An op of one tensor, its seconds and bytes filled in; nothing where the tensor has no such work.
struct TensorWork {
  double seconds = 0;
  double touched = 0;  ///< bytes
  bool is_needed = true;
};
TensorWork tensor_work(const StepJob& job, const layout::Parameter& parameter, Work work);

}  // namespace shardcheck::cost
