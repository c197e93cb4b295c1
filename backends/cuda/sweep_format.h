// From a named cast to the two sides of its sweep, on the host: the numbers of the format, the codes of the
// policy's edges as the readable encoder gives them, and which instruction makes the cast. Next:
// cast_sweep.cu.
#pragma once

#include <bit>

#include "backends/cuda/sweep_rules.cuh"
#include "core/assert.h"
#include "core/numerics/decode.h"

namespace shardcheck::gpu {

inline SweepFormat sweep_format(const NamedCast& cast) {
  const Format& format = format_of(cast.format);
  SC_ASSERT(std::get<CastPolicy>(cast.rule).rounding == Rounding::nearest_even, "the GPU's casts round so");
  const bool is_signed = format.sign_bits == 1;
  const auto largest = std::bit_cast<std::uint32_t>(static_cast<float>(decode(format, format.max_code)));
  const std::uint32_t midpoint = largest + (1u << (22 - format.mantissa_bits));
  SweepFormat sweep{.fraction_bits = format.mantissa_bits,
                    .smallest = format.smallest_exponent(),
                    .sign_shift = is_signed ? 32 - format.width() : 31,
                    .largest = format.max_code,
                    .overflows_from = midpoint + (format.max_code % 2 == 0 ? 1 : 0),
                    .has_negative_zero = format.encoding != Encoding::fnuz};
  for (std::uint32_t negative = 0; negative < (is_signed ? 2u : 1u); ++negative) {
    const auto code = [&](std::uint32_t magnitude) {
      return static_cast<std::uint16_t>(cast.code_of(negative << 31 | magnitude));
    };
    sweep.nan[negative] = code(0x7FC00000u);
    sweep.infinity[negative] = code(kSweepInfinity);
    sweep.overflow[negative] = code(kSweepInfinity - 1);
  }
  return sweep;
}

/// visit(machine, rule).
template <class Visit>
void with_power_of_two(const PowerOfTwoPolicy& policy, Visit visit) {
  const std::uint32_t too_large = policy.overflow == FiniteOverflow::saturate ? 254 : 255;
  ByCarry machine{.too_large = too_large};
  switch (policy.rounding) {
    case PowerOfTwoRounding::up:
      machine.add = 0x7FFFFFu;
      machine.add_to_subnormal = 0x3FFFFFu;
      break;
    case PowerOfTwoRounding::down: break;
    case PowerOfTwoRounding::nearest_even:
      machine.add = 0x3FFFFFu;
      machine.add_to_odd = 1;
      machine.add_to_subnormal = 0x1FFFFFu;
      break;
    case PowerOfTwoRounding::nearest_up:
      machine.add = 0x400000u;
      machine.add_to_subnormal = 0x200000u;
      break;
  }
  visit(machine, NearbyPower{policy.rounding, too_large});
}

/// Calls visit(machine, rule) with the two sides of the cast.
template <class Visit>
void with_sweep(const NamedCast& cast, Visit visit) {
  if (const auto* power = std::get_if<PowerOfTwoPolicy>(&cast.rule)) return with_power_of_two(*power, visit);
  const SweepFormat format = sweep_format(cast);
  const RoundedShift rule{format};
  switch (cast.format) {
    case FormatId::e4m3:
    case FormatId::ue4m3: return visit(ByFp8Instruction<E4m3>{format}, rule);
    case FormatId::e5m2: return visit(ByFp8Instruction<E5m2>{format}, rule);
    case FormatId::bf16: return visit(By16BitInstruction<Bf16>{format}, rule);
    case FormatId::f16: return visit(By16BitInstruction<F16>{format}, rule);
    default: return visit(ByAddition{format}, rule);
  }
}

}  // namespace shardcheck::gpu
