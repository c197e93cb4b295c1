// How far a product may be from the exact one (fp8 6.4), output by output, from the operands' codes alone:
// the bound of the law F58. Read next: product_laws.h.
#pragma once

#include <vector>

#include "core/numerics/profile.h"
#include "properties/gemm_law/gemm_case.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

/// One output: the exact value of alpha op(A) op(B) with scales, beta C in it, and B. `exact` is a sum in
/// double, whose own error is inside the bound. Where the result may leave the output type, `overflows`.
struct BoundedOutput {
  double exact = 0, bound = 0;
  bool overflows = false;
};

/// Column-major, m x n. `profile` says the accumulators; one without (the exact sum) is bounded like
/// `hopper`, and so is a machine without a profile.
std::vector<BoundedOutput> bounded_outputs(const ArithmeticProfile* profile, const GemmCase& c,
                                           GemmInputs inputs);

}  // namespace shardcheck
