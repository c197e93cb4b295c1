// shardcheck fp8 table: every code of a format, as a grid whose rows are the upper and whose columns are the
// lower bits; then the special codes in words. --list has one line a code.
#include "tools/shardcheck/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/report.h"

namespace shardcheck::fp8 {
namespace {

constexpr std::size_t kNarrowCell = 5;  ///< sixteen of these fit a terminal

/// Exact in few characters: "416", "1.875", "7p-9" for 7 * 2^-9.
std::string cell_text(const Format& format, std::uint32_t code) {
  if (format.is_nan(code)) return "NaN";
  if (format.is_infinity(code)) return "inf";
  const double value = decode(format, code);
  if (format.encoding == Encoding::power_of_two)
    return fmt::format("2^{}", static_cast<int>(code) - format.bias);
  const std::string decimal = fmt::format("{:.12g}", value);
  if (decimal.size() <= kNarrowCell && decimal.find('e') == std::string::npos) return decimal;
  int exponent = 0;
  auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 24));
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(significand));
  significand >>= zeros;
  return fmt::format("{}p{}", significand, exponent - 24 + zeros);
}

/// Codes with the sign bit are those without, negated: the grid has them only where the format has no sign.
std::uint32_t shown_codes(const Format& format) {
  return format.magnitude_mask() + 1;
}

std::size_t widest_cell(const Format& format) {
  std::size_t widest = 0;
  for (std::uint32_t code = 0; code < shown_codes(format); ++code)
    widest = std::max(widest, cell_text(format, code).size());
  return widest;
}

std::string grid_text(const Format& format, const Terminal& terminal) {
  const std::size_t width = widest_cell(format);
  const std::uint32_t columns = std::min(width <= kNarrowCell ? 16u : 8u, shown_codes(format));
  std::string head = "    ";
  for (std::uint32_t column = 0; column < columns; ++column)
    head += fmt::format(" {:>{}}", fmt::format("+{:x}", column), width);
  std::string text = paint(terminal, Tone::strong, head) + "\n";
  for (std::uint32_t row = 0; row < shown_codes(format); row += columns) {
    text += paint(terminal, Tone::strong, fmt::format("{:<4}", code_text(format, row)));
    for (std::uint32_t code = row; code < row + columns; ++code) {
      const std::string cell = fmt::format(" {:>{}}", cell_text(format, code), width);
      const bool is_special = format.is_nan(code) || format.is_infinity(code);
      text += paint(terminal, is_special ? Tone::warning : Tone::plain, cell);
    }
    text += "\n";
  }
  return text;
}

std::string sign_text(const Format& format) {
  if (format.sign_bits == 0) return "none: every code is of a magnitude";
  return fmt::format("codes from {} on are those above, negated",
                     code_text(format, format.sign_mask() + (format.encoding == Encoding::fnuz ? 1 : 0)));
}

/// "0x7f and 0xff", "0x7d to 0x7f and 0xfd to 0xff", "0x80 only".
std::string nan_text(const Format& format) {
  if (!format.has_nan()) return "none: policies differ in what a NaN becomes";
  if (format.encoding == Encoding::fnuz) return code_text(format, format.nan_code) + " only";
  const std::uint32_t first = (format.has_infinity() ? format.infinity_code : format.max_code) + 1;
  const auto codes = [&](std::uint32_t sign) {
    const std::string last = code_text(format, format.nan_code | sign);
    return first == format.nan_code ? last : code_text(format, first | sign) + " to " + last;
  };
  return format.sign_bits == 0 ? codes(0) : codes(0) + " and " + codes(format.sign_mask());
}

std::string zero_text(const Format& format) {
  if (format.encoding == Encoding::power_of_two) return "none";
  const std::string zero = code_text(format, 0);
  if (format.encoding == Encoding::fnuz) return zero + " only: there is no -0";
  return format.sign_bits == 0 ? zero
                               : fmt::format("{}, and -0 is {}", zero, code_text(format, format.sign_mask()));
}

std::string infinity_text(const Format& format) {
  if (!format.has_infinity()) return "none";
  return fmt::format("{} and {}", code_text(format, format.infinity_code),
                     code_text(format, format.infinity_code | format.sign_mask()));
}

std::string words_text(const Format& format, const Terminal& terminal) {
  const auto line = [&](std::string_view label, std::string_view text) {
    return labelled(terminal, label, text);
  };
  const std::uint32_t normal = 1u << format.mantissa_bits;
  std::string text = line("sign", sign_text(format));
  text += line("zero", zero_text(format));
  if (format.mantissa_bits > 0) {
    const std::string last = normal == 2 ? "" : " to " + code_text(format, normal - 1);
    text += line("subnormal",
                 fmt::format("{}{}, steps of {}", code_text(format, 1), last, exact_text(decode(format, 1))));
    text += line("normal", fmt::format("from {} on", value_text(format, normal)));
  }
  text += line("largest", value_text(format, format.max_code));
  text += line("infinity", infinity_text(format));
  return text + line("NaN", nan_text(format));
}

/// Sign, exponent and mantissa with blanks between.
std::string fields_text(const Format& format, std::uint32_t code) {
  std::string bits = fmt::format("{:0{}b}", code, format.width());
  if (format.mantissa_bits > 0)
    bits.insert(static_cast<std::size_t>(format.width() - format.mantissa_bits), " ");
  if (format.sign_bits > 0) bits.insert(1, " ");
  return bits;
}

std::string list_text(const Format& format, const Terminal& terminal) {
  Table table({"code", "fields", ">value", ">as a power"});
  for (std::uint32_t code = 0; code < format.code_count(); ++code) {
    const double value = decode(format, code);
    table.row({code_text(format, code), fields_text(format, code), exact_text(value),
               std::isfinite(value) ? fmt::format("{:a}", value) : ""});
  }
  return table.text(terminal);
}

}  // namespace

ExitStatus table(Session& session, const Arguments& arguments) {
  std::string name;
  bool as_list = false;
  Options options({"fp8 table", "FORMAT [flags]", "every code of a format and what it means"});
  options.argument(name, {"FORMAT", "", "e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0, e2m1, e3m2, e2m3, ue4m3"});
  options.flag(as_list, {"list", "", "one line a code: its fields and its exact value"});
  if (!options.parse(arguments, session)) return ExitStatus::held;
  const Format& format = narrow_format(name, "shardcheck fp8 table");
  if (format.width() > 8)
    throw bad_input("shardcheck fp8 table",
                    fmt::format("{} has 65,536 codes; `shardcheck fp8 cast --format {}` "
                                "shows the neighbours of a number",
                                name, name));
  const Terminal terminal = terminal_of(session.out);
  if (as_list) {
    session.out << list_text(format, terminal);
    return ExitStatus::held;
  }
  const std::string grid = grid_text(format, terminal);
  session.out << fmt::format("{}: {} sign, {} exponent, {} mantissa bits, bias {}{}\n\n", format.name,
                             format.sign_bits, format.exponent_bits, format.mantissa_bits, format.bias,
                             grid.find('p') == std::string::npos ? "" : "; 7p-9 means 7 * 2^-9")
              << grid << "\n"
              << words_text(format, terminal);
  return ExitStatus::held;
}

}  // namespace shardcheck::fp8
