// Buffer content as numbers, read and written through a backend's calls, for faults that recompute what an op
// did. Slow and plain: nobody measures a faulty backend.
#pragma once

#include <vector>

#include "core/backend.h"

namespace shardcheck::faulty {

/// How a result is brought to an element type.
enum class Direction { nearest_even, toward_zero };

/// `value` rounded to `type` (f32, bf16 or f16), as a double. Through fp32, so that nearest_even into a
/// 16-bit type rounds twice: right for values of fp32 and for sums and products of two values of `type`
/// itself that fp32 holds.
double rounded(double value, DType type, Direction direction);

/// The elements of `view` on `rank`.
std::vector<double> load(Backend& backend, const Plan& plan, Rank rank, View view);

/// Writes values that are elements of the view's type.
void store(Backend& backend, const Plan& plan, Rank rank, View view, const std::vector<double>& values);

}  // namespace shardcheck::faulty
