// Scales by their formulas, said a second time: quotients and products in double, each rounded to fp32 where
// the formula rounds, and powers of two by comparison of exact numbers. It shares no code with
// core/recipe/scales.cpp. Read next: formula_laws.h.
//
// A quotient of two fp32 numbers in double, rounded to fp32, is the quotient rounded once: 53 >= 2 * 24 + 2
// bits keep it off every midpoint that it does not hit. A product of two is exact in double.
#pragma once

#include "core/recipe/scales.h"

namespace shardcheck {

/// The scale of one block. Source: fp8 2.5, 3.0 to 3.5.
recipe::BlockScale expected_scale(const recipe::Recipe& recipe, FormatId elements,
                                  const recipe::ScaleInputs& inputs, float amax);

}  // namespace shardcheck
