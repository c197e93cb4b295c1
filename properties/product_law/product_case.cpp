#include "properties/product_law/product_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}
bool is_fp8(DType type) {
  return bytes_of(type) == 1;
}

/// Without scales: one of 1 where FP8 needs one.
void without_scales(GemmCase& c) {
  c.op.alpha = 1;
  c.scales = ScaleFamily::ones;
  if (is_fp8(c.a)) c.op.scales_a = c.op.scales_b = ScaleKind::tensor;
}

/// Integers whose sums fit the accumulator (fp8 6.3): at most 11 where 128 of their products are promoted, 8
/// in E5M2, which has no 9; 1 where nothing is promoted.
void make_integers(const GemmCase& c, GemmInputs& inputs) {
  const bool is_short = is_fp8(c.a) && c.op.fast_accumulation;
  for (const OperandCodes& operand : {operand_a(c, inputs), operand_b(c, inputs)}) {
    const int most = is_short ? 1 : operand.type == DType::e5m2 ? 8 : 11;
    for (std::int64_t row = 0; row < operand.rows; ++row) {
      for (std::int64_t i = 0; i < operand.k; ++i) {
        const auto drawn =
            static_cast<int>(operand.get(row, i) % static_cast<std::uint32_t>(2 * most + 1)) - most;
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(drawn));
        operand.set(row, i, encode(format_in(operand.type), kIeee, bits));
      }
    }
  }
}

void drop_signs(const GemmCase& c, GemmInputs& inputs) {
  for (const OperandCodes& operand : {operand_a(c, inputs), operand_b(c, inputs)}) {
    for (std::int64_t row = 0; row < operand.rows; ++row) {
      for (std::int64_t i = 0; i < operand.k; ++i)
        operand.set(row, i, operand.get(row, i) & format_in(operand.type).magnitude_mask());
    }
  }
}

}  // namespace

std::string_view clause_of(ProductLaw law) {
  constexpr std::string_view clauses[kProductLaws] = {"F57", "F58", "F59", "F60", "F61",
                                                      "F62", "F63", "F64", "F65", "F66"};
  return clauses[static_cast<std::size_t>(law)];
}

ProductQuestion random_product_question(Draw& draw) {
  ProductQuestion q;
  q.law = static_cast<ProductLaw>(draw.below(kProductLaws - 1));
  q.gemm = random_gemm_case(draw);
  Matmul& op = q.gemm.op;
  op.m = draw.chance(70) ? draw.pick<std::int64_t>({8, 16}) : 1 + draw.below(std::int64_t{20});
  op.n = draw.chance(70) ? 8 : 1 + draw.below(std::int64_t{12});
  op.k = draw.chance(80) ? 16 * (1 + draw.below(std::int64_t{16})) : 1 + draw.below(std::int64_t{300});
  q.positive = draw.chance(40);
  q.power = 1 + draw.below(8);
  q.row = draw.below(64);
  return q;
}

GemmCase as_asked(const ProductQuestion& q) {
  GemmCase c = q.gemm;
  switch (q.law) {
    case ProductLaw::exact_window:
      without_scales(c);
      c.op.accumulate = false;
      break;
    case ProductLaw::scaled: c.op.accumulate = false; break;
    case ProductLaw::one_signed:
      without_scales(c);
      c.op.accumulate = false;
      c.op.fast_accumulation = is_fp8(c.a);
      c.d = DType::f32;
      if (!is_fp8(c.a)) c.operands = OperandFamily::uniform;
      break;
    case ProductLaw::special: c.op.accumulate = false; break;
    case ProductLaw::narrow_output:
      c.op.accumulate = false;
      c.d = DType::f32;
      break;
    case ProductLaw::bound:
    case ProductLaw::independent:
    case ProductLaw::beta:
    case ProductLaw::padded:
    case ProductLaw::equals_profile: break;
  }
  return c;
}

GemmInputs numbers_of(const ProductQuestion& q, const GemmCase& asked) {
  GemmInputs inputs = inputs_of(asked);
  if (q.law == ProductLaw::exact_window) make_integers(asked, inputs);
  if (q.positive || q.law == ProductLaw::one_signed) drop_signs(asked, inputs);
  return inputs;
}

std::uint32_t OperandCodes::get(std::int64_t row, std::int64_t i) const {
  return code_at(type, bytes, by_k ? row * k + i : row + i * rows);
}
void OperandCodes::set(std::int64_t row, std::int64_t i, std::uint32_t code) const {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::memcpy(bytes.data() + static_cast<std::size_t>(by_k ? row * k + i : row + i * rows) * size, &code,
              size);
}
OperandCodes operand_a(const GemmCase& c, GemmInputs& inputs) {
  return {c.a, inputs.a, c.op.m, c.op.k, c.op.a == OperandLayout::transposed};
}
OperandCodes operand_b(const GemmCase& c, GemmInputs& inputs) {
  return {c.b, inputs.b, c.op.n, c.op.k, c.op.b == OperandLayout::plain};
}

std::string describe(const ProductQuestion& q) {
  std::string text = fmt::format("{} of {}", clause_of(q.law), describe(as_asked(q)));
  if (q.positive) text += ", without signs";
  text += fmt::format(", row {}, power {}", q.row, q.power);
  if (!q.fault.empty()) text += fmt::format(", with fault {} switched on", q.fault);
  return text;
}

}  // namespace shardcheck
