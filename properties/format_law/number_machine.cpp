#include "properties/format_law/number_machine.h"

#include <algorithm>
#include <bit>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/recipe/storage.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

std::uint32_t encoded_by_numerics(const NamedCast& cast, std::uint32_t f32_bits) {
  return cast.code_of(f32_bits);
}
void stored_in_order(std::span<std::uint32_t>) {}
std::uint32_t drawn_by_numerics(const NamedCast& cast, std::uint32_t f32_bits, RandomBits random) {
  return encode_stochastic(format_of(cast.format), std::get<CastPolicy>(cast.rule), f32_bits, random);
}

constexpr NumberRules kOurs{decode, encoded_by_numerics, stored_in_order, recipe::packed_fp4,
                            drawn_by_numerics};

DType type_of(FormatId format) {
  return format == FormatId::e4m3 ? DType::e4m3 : DType::e5m2;
}

/// The code of a number that the type has; of a NaN with its sign.
std::uint32_t code_in(DType type, std::uint32_t f32_bits) {
  if (type == DType::f32) return f32_bits;
  CastPolicy policy = kIeee;
  policy.nan_sign = NanSign::keep;
  return encode(format_of(*format_id_of(type)), policy, f32_bits);
}

/// Codes after one Cast op.
std::vector<std::uint32_t> cast_by(Backend& backend, std::int8_t policy, DType destination,
                                   const OpOperand& source) {
  constexpr std::uint32_t kUnwritten = 0xA5;
  const auto numel = source.ranks.front().size() / static_cast<std::size_t>(bytes_of(source.type));
  const OpOperand operands[] = {source,
                                on_one_rank(destination, std::vector<std::uint32_t>(numel, kUnwritten))};
  return codes_of_bytes(destination, execute_op(backend, Cast{policy}, operands).ranks.front());
}

}  // namespace

const NumberRules& number_rules() {
  return kOurs;
}

bool is_cast_op(FormatId format) {
  return format == FormatId::e4m3 || format == FormatId::e5m2;
}

std::vector<float> NumberMachine::decoded(const Format& format, std::span<const std::uint32_t> codes) const {
  std::vector<float> numbers;
  if (backend_ != nullptr && is_cast_op(format.id)) {
    const OpOperand source = on_one_rank(type_of(format.id), codes);
    for (const std::uint32_t bits : cast_by(*backend_, 0, DType::f32, source))
      numbers.push_back(std::bit_cast<float>(bits));
    return numbers;
  }
  for (const std::uint32_t code : codes) numbers.push_back(rules_.decoded(format, code));
  return numbers;
}

std::vector<std::uint32_t> NumberMachine::encoded(const NamedCast& cast, DType source,
                                                  std::span<const std::uint32_t> f32_bits) const {
  std::vector<std::uint32_t> codes;
  if (backend_ != nullptr && is_cast_op(cast.format)) {
    const auto policy = std::ranges::find(kCastPolicies, cast.name, &NamedCastPolicy::name);
    for (const std::uint32_t bits : f32_bits) codes.push_back(code_in(source, bits));
    return cast_by(*backend_, static_cast<std::int8_t>(policy - kCastPolicies.begin()), type_of(cast.format),
                   on_one_rank(source, codes));
  }
  for (const std::uint32_t bits : f32_bits) codes.push_back(rules_.encoded(cast, bits));
  rules_.stored(codes);
  return codes;
}

}  // namespace shardcheck
