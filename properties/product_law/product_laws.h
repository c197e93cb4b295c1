// The laws of products, F57 to F65 (fp8 5.6): what holds of a GEMM on any chip whose accumulator is not
// shorter than Hopper's, whatever its algorithm. An FP8 output (F64) is a product in fp32 whose amax is taken
// and which is then quantised by a given scale: no op of a plan does all of it at once. Next: zoo.h.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/product_law/product_case.h"
#include "properties/product_law/product_machine.h"

namespace shardcheck {

/// A finding of the law that is asked, at the first output that breaks it, or none. A machine whose profile
/// has no rule for the GEMM breaks nothing.
std::vector<Finding> judge_product_law(const ProductQuestion& q, const ProductMachine& machine);

/// Whether the machine's profile, where it has one, has a rule for what is asked.
bool is_asked(const ProductQuestion& q, const ProductMachine& machine);

}  // namespace shardcheck
