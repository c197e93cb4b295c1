#include "properties/product_law/zoo.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/integers.h"
#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"
#include "properties/gemm_law/gemm_law.h"

namespace shardcheck {
namespace {

using Bytes = std::vector<std::byte>;

Bytes right(const GemmCase& c, const GemmInputs& inputs) {
  return gemm_by_profile(kHopper, c, inputs);
}

/// Every output changed.
template <class Change>
Bytes changed(const GemmCase& c, Bytes d, Change change) {
  const Format& format = format_of(*format_id_of(c.d));
  for (std::int64_t i = 0; i < c.op.m * c.op.n; ++i) {
    const auto value = static_cast<float>(change(i, value_of_code(c.d, code_at(c.d, d, i))));
    const std::uint32_t code = encode(format, kIeee, std::bit_cast<std::uint32_t>(value));
    const auto size = static_cast<std::size_t>(bytes_of(c.d));
    std::memcpy(d.data() + static_cast<std::size_t>(i) * size, &code, size);
  }
  return d;
}

Bytes short_accumulator(const GemmCase& c, const GemmInputs& inputs) {
  ArithmeticProfile profile = kHopper;
  profile.fp8_promoted.alignment_bits = profile.fp8_promoted.kept_bits = 8;
  return gemm_by_profile(profile, c, inputs);
}
Bytes fast_accumulation(const GemmCase& c, const GemmInputs& inputs) {
  GemmCase fast = c;
  fast.op.fast_accumulation = true;
  return right(fast, inputs);
}
Bytes promoted_every_256(const GemmCase& c, const GemmInputs& inputs) {
  ArithmeticProfile profile = kHopper;
  profile.fp8_promoted.promotion_interval = 256;
  return gemm_by_profile(profile, c, inputs);
}
Bytes last_block_unscaled(const GemmCase& c, const GemmInputs& inputs) {
  GemmInputs without = inputs;
  const std::int64_t pitch = round_up(c.op.m, std::int64_t{4}), last = (c.op.k - 1) / 128 * pitch;
  if (c.op.k % 128 != 0 && c.op.scales_a == ScaleKind::vector128)
    std::fill_n(without.scales_a.begin() + last, c.op.m, 1.0f);
  return right(c, without);
}
Bytes scale_twice(const GemmCase& c, const GemmInputs& inputs) {
  GemmInputs twice = inputs;
  for (float& scale : twice.scales_a) scale *= scale;
  return right(c, twice);
}
Bytes rounds_up(const GemmCase& c, const GemmInputs& inputs) {
  return changed(c, right(c, inputs), [](std::int64_t, double value) { return value * (1 + 0x1p-13); });
}
/// Rows are worked on in pairs, and the NaN of one enters the other.
Bytes nan_leaks(const GemmCase& c, const GemmInputs& inputs) {
  const Bytes d = right(c, inputs);
  return changed(c, d, [&](std::int64_t i, double value) {
    const std::int64_t other = i % c.op.m % 2 == 0 ? i + 1 : i - 1;
    const bool has_other = other / c.op.m == i / c.op.m && other < c.op.m * c.op.n;
    const double neighbour = has_other ? value_of_code(c.d, code_at(c.d, d, other)) : 0;
    return std::isnan(neighbour) ? neighbour : value;
  });
}
Bytes nan_is_largest(const GemmCase& c, const GemmInputs& inputs) {
  GemmInputs numbers = inputs;
  for (std::byte& code : numbers.a) {
    if (c.a == DType::e4m3 && (code & std::byte{0x7f}) == std::byte{0x7f}) code &= std::byte{0xfe};
  }
  return right(c, numbers);
}
Bytes beta_times_c(const GemmCase& c, const GemmInputs& inputs) {
  if (c.op.accumulate) return right(c, inputs);
  return changed(c, right(c, inputs), [&](std::int64_t i, double value) {
    return value + 0 * value_of_code(c.d, code_at(c.d, inputs.c, i));
  });
}
Bytes c_twice(const GemmCase& c, const GemmInputs& inputs) {
  if (!c.op.accumulate) return right(c, inputs);
  return changed(c, right(c, inputs), [&](std::int64_t i, double value) {
    return value + value_of_code(c.d, code_at(c.d, inputs.c, i));
  });
}
Bytes last_step_dropped(const GemmCase& c, const GemmInputs& inputs) {
  GemmInputs kept = inputs;
  for (const OperandCodes& a : {operand_a(c, kept)}) {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      for (std::int64_t i = a.k / 32 * 32; i < a.k; ++i) a.set(row, i, 0);
    }
  }
  return right(c, kept);
}

NarrowOutput amax_of_scaled(std::span<const float> values, float scale) {
  NarrowOutput output = narrow_by_law(values, scale);
  output.amax *= scale;
  return output;
}
NarrowOutput without_saturation(std::span<const float> values, float scale) {
  NarrowOutput output = narrow_by_law(values, scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i] * scale) > 448) output.codes[i] = std::byte{0x7f};
  }
  return output;
}

void as_it_is(ProductQuestion&) {}
void beyond_e4m3(ProductQuestion& q) {
  q.power = 8;
  q.positive = true;
}
void long_and_positive(ProductQuestion& q) {
  q.gemm.op.k = 1024;
  q.positive = true;
}
void two_chunks_and_a_half(ProductQuestion& q) {
  q.gemm.op.k = 192;
  q.gemm.op.scales_a = q.gemm.op.scales_b = ScaleKind::vector128;
  q.gemm.scales = ScaleFamily::any;
}
void with_scales(ProductQuestion& q) {
  q.gemm.scales = ScaleFamily::powers_of_two;
}
void odd_k(ProductQuestion& q) {
  q.gemm.op.k = 48;
}
void with_beta(ProductQuestion& q) {
  q.gemm.op.accumulate = true;
}

constexpr ProductFault kZoo[] = {
    {"Q25", "the last partial block of K is never scaled", ProductLaw::bound, two_chunks_and_a_half,
     last_block_unscaled},
    {"Q49", "accumulation is fast where promotion was declared", ProductLaw::bound, long_and_positive,
     fast_accumulation},
    {"Q50", "promotion comes every 256 products and not every 128", ProductLaw::equals_profile,
     long_and_positive, promoted_every_256},
    {"Q51", "beta = 0 multiplies C by zero", ProductLaw::beta, as_it_is, beta_times_c},
    {"Q52", "the amax of an FP8 output is taken after its scale", ProductLaw::narrow_output, as_it_is, right,
     amax_of_scaled},
    {"Q56", "the NaN of a padded row enters its neighbour", ProductLaw::independent, as_it_is, nan_leaks},
    {"M1", "the accumulator keeps 8 bits", ProductLaw::exact_window, as_it_is, short_accumulator},
    {"M2", "a scale is applied twice", ProductLaw::scaled, with_scales, scale_twice},
    {"M3", "the accumulator rounds up", ProductLaw::one_signed, as_it_is, rounds_up},
    {"M4", "a NaN code is read as the largest number", ProductLaw::special, as_it_is, nan_is_largest},
    {"M5", "C is added twice", ProductLaw::beta, with_beta, c_twice},
    {"M7", "an FP8 output beyond the largest number becomes NaN", ProductLaw::narrow_output, beyond_e4m3,
     right, without_saturation},
    {"M6", "the last partial step of K is dropped", ProductLaw::padded, odd_k, last_step_dropped},
};

}  // namespace

std::span<const ProductFault> product_zoo() {
  return kZoo;
}

const ProductFault* find_product_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &ProductFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

ProductQuestion case_of(const ProductFault& fault) {
  ProductQuestion q{.law = fault.law, .fault = std::string(fault.id)};
  q.gemm.op = {.m = 4, .n = 2, .k = 128, .scales_a = ScaleKind::tensor, .scales_b = ScaleKind::tensor};
  q.gemm.a = q.gemm.b = DType::e4m3;
  q.gemm.operands = OperandFamily::uniform;
  q.gemm.seed = 1;
  fault.show(q);
  return q;
}

}  // namespace shardcheck
