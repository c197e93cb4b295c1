#include "core/numerics/named_cast.h"

namespace shardcheck {
namespace {

struct NamedRounding {
  const char* name;
  PowerOfTwoRounding rounding;
};
constexpr NamedRounding kRoundings[] = {{"rp", PowerOfTwoRounding::up},
                                        {"rz", PowerOfTwoRounding::down},
                                        {"even", PowerOfTwoRounding::nearest_even},
                                        {"half_up", PowerOfTwoRounding::nearest_up}};

}  // namespace

std::uint32_t NamedCast::code_of(std::uint32_t f32_bits) const {
  if (const auto* power = std::get_if<PowerOfTwoPolicy>(&rule))
    return encode_e8m0(f32_bits, power->rounding, power->overflow);
  return encode(format_of(format), std::get<CastPolicy>(rule), f32_bits);
}

std::vector<NamedCast> named_casts(FormatId format) {
  std::vector<NamedCast> casts;
  if (format == FormatId::f32) return casts;
  if (format != FormatId::e8m0) {
    for (const NamedCastPolicy& named : kCastPolicies)
      casts.push_back({format, std::string(named.name), named.policy});
    return casts;
  }
  for (const NamedRounding& named : kRoundings) {
    const std::string name = named.name;
    casts.push_back({format, name + "_sat", PowerOfTwoPolicy{named.rounding, FiniteOverflow::saturate}});
    casts.push_back({format, name + "_nosat", PowerOfTwoPolicy{named.rounding, FiniteOverflow::to_special}});
  }
  return casts;
}

}  // namespace shardcheck
