#include "properties/gemm_law/gemm_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/integers.h"

namespace shardcheck {
namespace {

bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

bool is_block(ScaleKind kind) {
  return kind == ScaleKind::vector128 || kind == ScaleKind::block128x128;
}

std::string_view name_of(ScaleKind kind) {
  constexpr std::string_view names[] = {"none", "tensor", "outer vector", "1x128", "128x128"};
  return names[static_cast<int>(kind)];
}

struct Layouts {
  OperandLayout a, b;
};
constexpr Layouts kTn{OperandLayout::transposed, OperandLayout::plain};
constexpr Layouts kNt{OperandLayout::plain, OperandLayout::transposed};
constexpr Layouts kNn{OperandLayout::plain, OperandLayout::plain};

void draw_sixteen_bit(Draw& draw, GemmCase& c) {
  c.a = c.b = draw.pick({DType::bf16, DType::bf16, DType::f16});
  c.d = draw.pick({DType::f32, c.a});
  const Layouts layouts = draw.pick({kTn, kNt, kNn});
  c.op.a = layouts.a;
  c.op.b = layouts.b;
}

struct ScalePair {
  ScaleKind a, b;
};

void draw_fp8(Draw& draw, GemmCase& c) {
  struct Pair {
    DType a, b;
  };
  const Pair types = draw.pick(
      {Pair{DType::e4m3, DType::e4m3}, Pair{DType::e4m3, DType::e5m2}, Pair{DType::e5m2, DType::e4m3}});
  c.a = types.a;
  c.b = types.b;
  c.d = draw.pick({DType::f32, DType::f32, DType::bf16, DType::bf16, DType::f16});
  c.op.a = kTn.a;
  c.op.b = kTn.b;
  constexpr Weighted<ScalePair> kScales[] = {
      {{ScaleKind::tensor, ScaleKind::tensor}, 3},
      {{ScaleKind::outer_vector, ScaleKind::outer_vector}, 2},
      {{ScaleKind::vector128, ScaleKind::vector128}, 2},
      {{ScaleKind::vector128, ScaleKind::block128x128}, 2},
      {{ScaleKind::block128x128, ScaleKind::vector128}, 1},
  };
  const ScalePair scales = draw.pick(kScales);
  c.op.scales_a = scales.a;
  c.op.scales_b = scales.b;
  c.op.fast_accumulation = !is_block(scales.a) && draw.chance(50);
  c.scales = draw.pick({ScaleFamily::ones, ScaleFamily::powers_of_two, ScaleFamily::any, ScaleFamily::any});
}

void draw_sizes(Draw& draw, GemmCase& c) {
  constexpr std::int64_t kMostProducts = std::int64_t{1} << 23;
  const bool plain = draw.chance(85);  // sizes that a library takes
  const std::int64_t step = is_fp8(c.a) ? 16 : 8;
  c.op.m = plain ? draw.pick({std::int64_t{8}, std::int64_t{16}, std::int64_t{64}, std::int64_t{72},
                              std::int64_t{128}, std::int64_t{136}, std::int64_t{256}, std::int64_t{384}})
                 : 1 + draw.below(std::int64_t{150});
  c.op.n = draw.chance(40) ? 1 + draw.below(std::int64_t{17})
                           : draw.pick({std::int64_t{16}, std::int64_t{24}, std::int64_t{64},
                                        std::int64_t{128}, std::int64_t{136}, std::int64_t{256}});
  c.op.k = plain
               ? step * (1 + (draw.chance(70) ? draw.below(std::int64_t{40}) : draw.below(std::int64_t{512})))
               : 1 + draw.below(std::int64_t{300});
  if (plain && is_fp8(c.a) && draw.chance(40)) c.op.k = 128 * (1 + draw.below(std::int64_t{24}));
  if (c.op.m * c.op.n * c.op.k > kMostProducts) {
    c.op.m = std::min<std::int64_t>(c.op.m, 64);
    c.op.n = std::min<std::int64_t>(c.op.n, 16);
  }
}

}  // namespace

std::string_view name_of(OperandFamily family) {
  constexpr std::string_view names[kOperandFamilies] = {"uniform",        "gaussian", "every code",
                                                        "wide exponents", "sparse",   "subnormals"};
  return names[static_cast<int>(family)];
}

std::string_view name_of(ScaleFamily family) {
  constexpr std::string_view names[] = {"ones", "powers of two", "any"};
  return names[static_cast<int>(family)];
}

GemmCase random_gemm_case(Draw& draw) {
  GemmCase c;
  if (draw.chance(35)) {
    draw_sixteen_bit(draw, c);
  } else {
    draw_fp8(draw, c);
  }
  draw_sizes(draw, c);
  c.op.accumulate = draw.chance(50);
  if (draw.chance(30)) c.op.alpha = draw.pick({0.7f, 2.0f, -1.5f, 1.0f / 3.0f});
  c.operands = static_cast<OperandFamily>(draw.below(kOperandFamilies));
  c.seed = draw.word();
  return c;
}

GemmCase library_gemm_case(Draw& draw) {
  GemmCase c = random_gemm_case(draw);
  constexpr std::int64_t kStep = 16, kLongestK = 1024;
  c.op.m = kStep * (1 + draw.below(std::int64_t{3}));
  c.op.n = kStep * (1 + draw.below(std::int64_t{3}));
  c.op.k = std::min(round_up(c.op.k, kStep), kLongestK);
  return c;
}

std::string describe(const GemmCase& c) {
  std::string text = fmt::format("{}{} {} x {} x {}, {} x {} -> {}, beta {}",
                                 c.op.a == OperandLayout::transposed ? 'T' : 'N',
                                 c.op.b == OperandLayout::transposed ? 'T' : 'N', c.op.m, c.op.n, c.op.k,
                                 name_of(c.a), name_of(c.b), name_of(c.d), c.op.accumulate ? 1 : 0);
  if (c.op.alpha != 1) text += fmt::format(", alpha {}", c.op.alpha);
  if (c.op.scales_a != ScaleKind::none) {
    text += fmt::format(", scales {} x {} ({})", name_of(c.op.scales_a), name_of(c.op.scales_b),
                        name_of(c.scales));
  }
  if (c.op.fast_accumulation) text += ", fast accumulation";
  return text + fmt::format(", {}, seed {}", name_of(c.operands), c.seed);
}

std::string model_row(const ArithmeticProfile& profile, const GemmCase& c) {
  if (profile.summation == Summation::exact) return "the exact sum, rounded once";
  const bool fp8 = is_fp8(c.a);
  const Accumulator& accumulator = !fp8                     ? profile.sixteen_bit
                                   : c.op.fast_accumulation ? profile.fp8_fast
                                                            : profile.fp8_promoted;
  const std::string sum =
      fmt::format("{} (n {}, F {}, P {})",
                  !fp8                     ? "16-bit operands"
                  : c.op.fast_accumulation ? "FP8, fast"
                                           : "FP8, promoted",
                  accumulator.products_per_step, accumulator.alignment_bits, accumulator.kept_bits);
  std::string_view scales = "z = RN(alpha acc)";
  if (c.op.scales_a == ScaleKind::tensor) scales = "z = RN(acc RN(RN(alpha sa) sb))";
  if (c.op.scales_a == ScaleKind::outer_vector) scales = "z = RN(RN(RN(acc sa) sb) alpha)";
  if (is_block(c.op.scales_a)) {
    scales = c.op.scales_a == c.op.scales_b ? "y = fma(RN(p sb), sa, y), z = RN(alpha y)"
                                            : "y = fma(p, RN(sa sb), y), z = RN(alpha y)";
  }
  std::string_view output = c.op.accumulate ? "D = RN(z + C)" : "D = z";
  if (c.d != DType::f32) output = c.op.accumulate ? "D = RN16(RN16(z) + C)" : "D = RN16(z)";
  return fmt::format("{}; {}; {} output, {}", sum, scales, name_of(c.d), output);
}

}  // namespace shardcheck
