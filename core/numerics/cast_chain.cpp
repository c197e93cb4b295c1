#include "core/numerics/cast_chain.h"

#include <bit>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {

std::uint32_t encode_through(std::span<const CastStep> steps, std::uint32_t f32_bits) {
  SC_ASSERT(!steps.empty(), "a chain of casts has no step");
  std::uint32_t code = f32_bits;
  for (const CastStep& step : steps) {
    const bool is_first = &step == &steps.front();
    const Format& from = is_first ? format_of(FormatId::f32) : format_of((&step)[-1].format);
    const auto bits = std::bit_cast<std::uint32_t>(decode(from, code));
    code = encode(format_of(step.format), step.policy, bits);
  }
  return code;
}

}  // namespace shardcheck
