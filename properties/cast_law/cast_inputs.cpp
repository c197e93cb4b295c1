#include "properties/cast_law/cast_inputs.h"

namespace shardcheck {

std::uint32_t draw_f32(Draw& draw, const NearestCode& nearest) {
  const std::uint32_t sign = draw.chance(50) ? 0x80000000u : 0;
  const auto step = static_cast<std::uint32_t>(draw.below(5) - 2);
  switch (draw.below(8)) {
    case 0: return draw.word();
    case 1: return sign | ((static_cast<std::uint32_t>(draw.below(255)) << 23) + step);
    case 2:
      return sign | draw.pick({0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0x7f7fffffu, 1u, 0u});
    default: {
      const auto& runs = nearest.runs();
      const std::uint32_t first = runs[static_cast<std::size_t>(draw.below(std::ssize(runs)))].first;
      return sign | ((first + step) & 0x7fffffffu);
    }
  }
}

}  // namespace shardcheck
