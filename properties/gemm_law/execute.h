// A GEMM case on a backend: the case as a plan of one op on one rank, and its D. Read next: gemm_law.h, which
// judges D; tools/shardcheck/record.cpp, which writes it down.
#pragma once

#include <cstddef>
#include <vector>

#include "core/backend.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

/// One Matmul on rank 0; its operands are A, B, the scales of both, D.
Plan plan_of(const GemmCase& c);

/// D as the backend leaves it, column-major; nothing where another process holds the rank. Throws what the
/// backend throws.
std::vector<std::byte> execute_gemm(Backend& backend, const GemmCase& c, const GemmInputs& inputs);

/// Whether the backend refuses the case with a sentence, as it must where its profile has no rule for it.
/// True where another process holds the rank.
bool refuses(Backend& backend, const GemmCase& c);

}  // namespace shardcheck
