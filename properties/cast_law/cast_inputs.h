// Where casts are asked: numbers near the places where the code changes (fp8 5.8, G1 to G3). For every law of
// casts and formats. Read next: nearest_code.h, which knows the places.
#pragma once

#include <cstdint>

#include "properties/cast_law/nearest_code.h"
#include "properties/generate/draw.h"

namespace shardcheck {

/// fp32 bits: near a place where the code changes; a power of two and its neighbours; a special; anything.
std::uint32_t draw_f32(Draw& draw, const NearestCode& nearest);

}  // namespace shardcheck
