// The law F66: a GEMM equals its arithmetic profile bit for bit. A broken one is a bug or a discovery, and
// the finding says which row of the model it speaks of. Read next: run.h, which asks it of many cases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "properties/gemm_law/gemm_case.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

/// Executes the case on `candidate` and compares every output with the profile that the candidate names. One
/// finding, at the first output that differs, or none. Error(machine_cannot) when the candidate has no
/// profile: then F66 says nothing about it. NaN codes are one.
std::vector<Finding> gemm_equals_profile(Backend& candidate, const GemmCase& c);

/// The same with a profile of the caller's choice, which must have a rule for the case.
std::vector<Finding> gemm_equals_profile(Backend& candidate, const GemmCase& c,
                                         const ArithmeticProfile& profile);

/// Why the profile says nothing about the case (a sentence), or nothing when it does.
std::optional<std::string> unsupported_reason(const ArithmeticProfile& profile, const GemmCase& c);

/// D of the case as the profile computes it, which must have a rule for it.
std::vector<std::byte> gemm_by_profile(const ArithmeticProfile& profile, const GemmCase& c,
                                       const GemmInputs& inputs);

}  // namespace shardcheck
