// Numbers, codes and names as the questions of `shardcheck fp8` write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/numerics/format.h"
#include "core/numerics/named_cast.h"

namespace shardcheck::fp8 {

/// The exact value: "0.001953125", or "257 * 2^-140" where the decimal would be long. "infinity", "NaN".
std::string exact_text(double value);

/// "0x7e", as wide as the format's codes.
std::string code_text(const Format& format, std::uint32_t code);
/// "448 (0x7e)"; "-NaN (0xff)" and "-0 (0x80)" keep their signs.
std::string value_text(const Format& format, std::uint32_t code);
/// "0x3e99999a".
std::string bits_text(std::uint32_t f32_bits);

/// A number of the command line, as it was given, and the fp32 number that it means.
struct Input {
  std::string text;
  std::uint32_t f32_bits;
  bool is_rounded;  ///< the given number was rounded to the source type
};

/// Reads decimals, hexadecimal floats (0x1p-9), infinity, nan, and bits (0x and all digits of the type).
/// `source` is f32, bf16 or f16. Throws Error(bad_input), which names `where`.
Input input_in(const std::string& text, DType source, const std::string& where);

/// The format of that name that fp32 is cast to. Throws Error(bad_input).
const Format& narrow_format(const std::string& name, const std::string& where);

/// The source type of that name. Throws Error(bad_input).
DType source_type(const std::string& name, const std::string& where);

/// The cast of that name into the format. Throws Error(bad_input).
NamedCast cast_named(const Format& format, const std::string& name, const std::string& where);

/// Negative numbers, such as -0.3 and -inf, would be read as flags: all words that are numbers are handed on
/// behind the flags, in their order. For questions whose flags take no numbers.
std::vector<std::string> with_numbers_last(const std::vector<std::string>& arguments);

}  // namespace shardcheck::fp8
