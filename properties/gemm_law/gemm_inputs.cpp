#include "properties/gemm_law/gemm_inputs.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/integers.h"
#include "core/numerics/encode.h"
#include "core/numerics/gemm.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

/// Which numbers of a case are drawn; a stream each.
enum class Tensor : std::uint64_t { a = 1, b, c, scales_a, scales_b };
using Words = std::array<std::uint32_t, 4>;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

std::uint32_t below(std::uint32_t word, std::uint32_t limit) {
  return static_cast<std::uint32_t>(std::uint64_t{word} * limit >> 32);
}

std::uint32_t code_of(const Format& format, float value) {
  const CastPolicy& policy = format.width() == 8 ? kNvSaturating : kIeee;
  return encode(format, policy, std::bit_cast<std::uint32_t>(value));
}

std::uint32_t with_sign(const Format& format, std::uint32_t magnitude, std::uint32_t word) {
  return (word & 1u) != 0 ? magnitude | format.sign_mask() : magnitude;
}

/// Any significand, an exponent field in [low, high].
std::uint32_t in_binades(const Format& format, std::uint32_t low, std::uint32_t high, const Words& words) {
  const std::uint32_t field = low + below(words[0], high - low + 1);
  const std::uint32_t fraction = words[1] & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t magnitude = field << format.mantissa_bits | fraction;
  return with_sign(format, magnitude <= format.max_code ? magnitude : format.max_code, words[2]);
}

std::uint32_t wide(const Format& format, const Words& words) {
  const std::uint32_t last = format.max_code >> format.mantissa_bits;
  if (format.id == FormatId::bf16) return in_binades(format, 127 - 24, 127 + 24, words);
  return in_binades(format, 1, last, words);
}

std::uint32_t any_code(const Format& format, const Words& words) {
  if (format.id == FormatId::bf16) return in_binades(format, 127 - 50, 127 + 50, words);
  return with_sign(format, below(words[0], format.max_code + 1), words[1]);
}

/// The product of two subnormal bf16 numbers is nothing in fp32, so that B is large then.
std::uint32_t subnormal(const Format& format, Tensor tensor, const Words& words) {
  if (format.id == FormatId::bf16 && tensor == Tensor::b) return in_binades(format, 127, 127 + 100, words);
  if (words[3] % 4 == 0) return wide(format, words);
  return with_sign(format, below(words[0], 1u << format.mantissa_bits), words[1]);
}

float uniform(const Words& words) {
  const float magnitude = 0.5f + static_cast<float>(words[0] >> 8) * 0x1p-24f;
  return words[1] % 4 == 0 ? -magnitude : magnitude;
}

/// The sum of eight uniform numbers, of variance 1.
float gaussian(const Words& words) {
  double sum = -4;
  for (std::uint32_t word : words) sum += ((word & 0xFFFFu) + (word >> 16)) * 0x1p-16;
  return static_cast<float>(sum * 1.2247448713915890);  // sqrt(12 / 8)
}

std::uint32_t operand_code(const Format& format, OperandFamily family, Tensor tensor, const Words& words) {
  switch (family) {
    case OperandFamily::uniform: return code_of(format, uniform(words));
    case OperandFamily::gaussian: return code_of(format, gaussian(words));
    case OperandFamily::every_code: return any_code(format, words);
    case OperandFamily::wide_exponents: return wide(format, words);
    case OperandFamily::sparse:
      return words[3] % 8 == 0 ? wide(format, words) : with_sign(format, 0, words[2]);
    case OperandFamily::subnormals: return subnormal(format, tensor, words);
  }
  return 0;
}

template <class CodeOf>
std::vector<std::byte> codes(DType type, std::int64_t count, const GemmCase& c, Tensor tensor,
                             CodeOf code_of_words) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t code =
        code_of_words(philox(c.seed, static_cast<std::uint64_t>(tensor), static_cast<std::uint64_t>(i)));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size, &code, size);
  }
  return bytes;
}

float scale(ScaleFamily family, const Words& words) {
  const int exponent = static_cast<int>(below(words[0], 13)) - 6;
  switch (family) {
    case ScaleFamily::ones: return 1.0f;
    case ScaleFamily::powers_of_two: return std::ldexp(1.0f, exponent);
    case ScaleFamily::any: return std::ldexp(1.0f + static_cast<float>(words[1] >> 9) * 0x1p-23f, exponent);
  }
  return 1.0f;
}

std::vector<float> scales(const GemmCase& c, ScaleKind kind, std::int64_t rows, Tensor tensor) {
  const auto mode = static_cast<ScaleMode>(kind);
  std::vector<float> all(static_cast<std::size_t>(scale_count(mode, rows, c.op.k)),
                         std::numeric_limits<float>::quiet_NaN());
  // Lines of `used` scales, `pitch` apart.
  std::int64_t used = std::ssize(all), pitch = used;
  if (kind == ScaleKind::vector128) {
    used = rows;
    pitch = round_up(rows, std::int64_t{4});
  } else if (kind == ScaleKind::block128x128) {
    used = div_ceil(c.op.k, std::int64_t{128});
    pitch = round_up(used, std::int64_t{4});
  }
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    if (i % pitch >= used) continue;
    const Words words = philox(c.seed, static_cast<std::uint64_t>(tensor), static_cast<std::uint64_t>(i));
    all[static_cast<std::size_t>(i)] = scale(c.scales, words);
  }
  return all;
}

}  // namespace

GemmInputs inputs_of(const GemmCase& c) {
  const auto operand = [&](DType type, std::int64_t count, Tensor tensor) {
    return codes(type, count, c, tensor, [&](const Words& words) {
      return operand_code(format_in(type), c.operands, tensor, words);
    });
  };
  const Format& output = format_in(c.d);
  return {
      .a = operand(c.a, c.op.m * c.op.k, Tensor::a),
      .b = operand(c.b, c.op.n * c.op.k, Tensor::b),
      .c = codes(c.d, c.op.m * c.op.n, c, Tensor::c,
                 [&](const Words& words) {
                   const auto bias = static_cast<std::uint32_t>(output.bias);
                   return in_binades(output, bias - 6, bias + 6, words);
                 }),
      .scales_a = scales(c, c.op.scales_a, c.op.m, Tensor::scales_a),
      .scales_b = scales(c, c.op.scales_b, c.op.n, Tensor::scales_b),
  };
}

}  // namespace shardcheck
