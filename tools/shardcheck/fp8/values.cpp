#include "tools/shardcheck/fp8/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "core/numerics/narrow.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck::fp8 {
namespace {

/// The number that is the whole of the text; nothing where it is none.
std::optional<double> number_in(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return number;
}

bool is_bits(const std::string& text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  return is_hex && text.size() > 2 &&
         text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
}

/// The number's bits in the source type, widened.
std::uint32_t in_source(const std::string& text, double number, DType source) {
  // strtof rounds the text itself to fp32, once; the narrower types are rounded from double, whose 53 bits
  // hold every decimal that a person types.
  if (source == DType::f32) {
    const float narrow = std::strtof(text.c_str(), nullptr);
    return std::bit_cast<std::uint32_t>(narrow);
  }
  const Format& format = format_of(*format_id_of(source));
  if (std::isnan(number)) return std::signbit(number) ? 0xFFC00000u : 0x7FC00000u;
  if (std::isinf(number) || number == 0) return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);
  const Dyadic exact{std::signbit(number), static_cast<std::uint64_t>(std::ldexp(fraction, 53)),
                     exponent - 53, false};
  return std::bit_cast<std::uint32_t>(decode(format, encode(format, kIeee, exact)));
}

std::uint32_t from_bits(const std::string& text, DType source, const std::string& where) {
  const std::size_t digits = 2 * static_cast<std::size_t>(bytes_of(source));
  if (text.size() - 2 != digits) {
    const std::string other = text.size() == 6 && source == DType::f32 ? "; --from bf16 or f16 reads 4" : "";
    throw bad_input(where, fmt::format("\"{}\" has {} hexadecimal digits; the bits of {} have {}{}", text,
                                       text.size() - 2, name_of(source), digits, other));
  }
  const auto bits = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16));
  if (source == DType::f32) return bits;
  const auto narrow = static_cast<std::uint16_t>(bits);
  return std::bit_cast<std::uint32_t>(source == DType::bf16 ? bf16_to_f32(narrow) : f16_to_f32(narrow));
}

}  // namespace

std::string exact_text(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-NaN" : "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  constexpr int kMostDigits = 15;
  const std::string text = fmt::format("{:.{}g}", value, kMostDigits);
  if (text == fmt::format("{:.{}g}", value, 4 * kMostDigits)) return text;
  int exponent = 0;
  auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(significand));
  significand /= std::int64_t{1} << zeros;
  const std::string power = fmt::format("2^{}", exponent - 53 + zeros);
  if (significand == 1) return power;
  return significand == -1 ? "-" + power : fmt::format("{} * {}", significand, power);
}

std::string code_text(const Format& format, std::uint32_t code) {
  return fmt::format("0x{:0{}x}", code, (format.width() + 3) / 4);
}

std::string value_text(const Format& format, std::uint32_t code) {
  return fmt::format("{} ({})", exact_text(decode(format, code)), code_text(format, code));
}

std::string bits_text(std::uint32_t f32_bits) {
  return fmt::format("{:#010x}", f32_bits);
}

Input input_in(const std::string& text, DType source, const std::string& where) {
  if (is_bits(text)) return {text, from_bits(text, source, where), false};
  const auto number = number_in(text);
  if (!number)
    throw bad_input(where,
                    fmt::format("\"{}\" is not a number: 0.3, -1e-9, 0x1p-9, inf, nan, or the bits of {} "
                                "such as {}",
                                text, name_of(source), source == DType::f32 ? "0x3e99999a" : "0x3e9a"));
  const std::uint32_t bits = in_source(text, *number, source);
  const double kept = std::bit_cast<float>(bits);
  // A decimal that double rounds is not kept either.
  const bool is_kept = std::isnan(*number) || kept == *number;
  return {text, bits, !is_kept};
}

const Format& narrow_format(const std::string& name, const std::string& where) {
  const auto id = format_named(name);
  if (id && *id != FormatId::f32) return format_of(*id);
  std::vector<std::string> known;
  for (const Format& format : kFormats) {
    if (format.id != FormatId::f32) known.emplace_back(format.name);
  }
  throw bad_input(where, unknown_name({name, "narrow format", std::move(known), ""}));
}

DType source_type(const std::string& name, const std::string& where) {
  const auto type = dtype_named(name);
  if (type && (*type == DType::f32 || *type == DType::bf16 || *type == DType::f16)) return *type;
  throw bad_input(where, unknown_name({name, "source type", {"f32", "bf16", "f16"}, ""}));
}

NamedCast cast_named(const Format& format, const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const NamedCast& cast : named_casts(format.id)) {
    if (cast.name == name) return cast;
    known.push_back(cast.name);
  }
  throw bad_input(where,
                  unknown_name({name, fmt::format("policy of {}", format.name), std::move(known), ""}));
}

std::vector<std::string> with_numbers_last(const std::vector<std::string>& arguments) {
  std::vector<std::string> words, numbers;
  for (const std::string& word : arguments) (number_in(word) ? numbers : words).push_back(word);
  words.emplace_back("--");
  words.insert(words.end(), numbers.begin(), numbers.end());
  return words;
}

}  // namespace shardcheck::fp8
