// The end of a matrix product, seen from outside: how D is rounded, how C is added, what beta = 0 does with
// the old content, zeros, subnormals and NaN. Read next: scale_order.h for scales, accumulator.h for the
// sum before it.
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/dots.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Names of the facts.
namespace gemm_end_facts {
inline constexpr std::string_view kRounding = "output rounding";
inline constexpr std::string_view kAccumulation = "beta = 1";
inline constexpr std::string_view kOverwrite = "beta = 0";
inline constexpr std::string_view kUnwritten = "every element";
inline constexpr std::string_view kZero = "zero";
inline constexpr std::string_view kSubnormals = "subnormal results";
inline constexpr std::string_view kSpecial = "NaN and infinity";
}  // namespace gemm_end_facts

/// Facts of the subject "end of RULE", for every output type.
std::vector<Fact> observe_gemm_end(Backend& backend, const DotRule& rule);

/// What a weight gradient of no tokens does (W9): subject "wgrad of no tokens".
std::vector<Fact> observe_empty_wgrad(Backend& backend);

}  // namespace shardcheck
