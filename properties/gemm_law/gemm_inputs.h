// The numbers of a GEMM case: f(seed, operand, index), so that they do not depend on who asks. What a scale
// array holds beside its scales is NaN, because nothing may depend on padding (F37).
#pragma once

#include <cstddef>
#include <vector>

#include "properties/gemm_law/gemm_case.h"

namespace shardcheck {

struct GemmInputs {
  std::vector<std::byte> a, b, c;
  std::vector<float> scales_a, scales_b;
};

GemmInputs inputs_of(const GemmCase& c);

}  // namespace shardcheck
