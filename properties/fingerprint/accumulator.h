// What the accumulator of a matrix product does, seen from outside: the numbers of core/numerics/profile.h's
// Accumulator, and the rules of tensor-core 1 that the profile takes for granted. Each is read from a few dot
// products in which a small term survives or is lost. Read next: dots.h, which computes them.
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/dots.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Names of the facts, in the order in which they are observed.
namespace accumulator_facts {
inline constexpr std::string_view kAlignmentBits = "alignment bits";
inline constexpr std::string_view kProductsPerStep = "products a step";
inline constexpr std::string_view kOrder = "order of K";
inline constexpr std::string_view kKeptBits = "kept bits";
inline constexpr std::string_view kAlignedTerm = "an aligned term is cut";
inline constexpr std::string_view kSum = "the sum of a step is cut";
inline constexpr std::string_view kMaximum = "accumulator in the maximum";
inline constexpr std::string_view kProductExponent = "exponent of a product";
inline constexpr std::string_view kSubnormal = "subnormal operands";
inline constexpr std::string_view kPromotionInterval = "promotion interval";
}  // namespace accumulator_facts

/// The facts of the subject "accumulator of RULE"; the output of `rule` is f32. A fact that cannot be told
/// says why; so do all of them when the backend refuses the op. Values of the first, second, fourth and last
/// are numbers in words of their own: "25", "32", "13", "128" or "never", and "unlimited" alignment bits
/// where sums are exact.
std::vector<Fact> observe_accumulator(Backend& backend, const DotRule& rule);

}  // namespace shardcheck
