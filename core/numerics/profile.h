// Arithmetic profiles: what a chip's matrix product does to the last bit, as data. Another chip is another
// row. `hopper` is measured (tensor-core 1 and 2); `ideal` is no chip: the exact sum, rounded once; the
// others are published and were not measured here (tensor-core 1.1). Read next: gemm.h, which computes by a
// profile; aligned_sum.h, the step that the numbers below describe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/numerics/format.h"

namespace shardcheck {

/// One accumulator (tensor-core 1). All zeros where a chip has none for the operands, or none is known.
struct Accumulator {
  int products_per_step;  ///< n: products aligned and added at once
  int alignment_bits;  ///< F: fraction bits below the largest exponent that a term keeps when it is aligned
  int kept_bits;       ///< P: fraction bits that the result of a step keeps
  int promotion_interval;  ///< products after which the accumulator is added to an fp32 sum and cleared; 0:
                           ///< never

  constexpr bool exists() const { return products_per_step != 0; }
};

/// Which 16-bit operands a chip's tensor cores take.
enum class SixteenBitOperands : std::uint8_t { f16, bf16_and_f16 };

/// How products are summed.
enum class Summation : std::uint8_t {
  exact,    ///< the sum with scales, alpha and beta * C in it, rounded once to the output type
  aligned,  ///< steps of an Accumulator, then the epilogue of tensor-core 1: scales in its order, C added at
            ///< the end
};

/// What happens to the product before C is added, when the output is bf16 or fp16.
enum class NarrowAccumulation : std::uint8_t {
  round_sum_once,          ///< D = RN16(RN(z + C)); with Summation::exact the sum itself is exact
  round_product_then_sum,  ///< D = RN16(RN16(z) + C)
};

/// Everything that decides the bits of a GEMM, except the algorithm's own choices (split-K, fast
/// accumulation).
struct ArithmeticProfile {
  std::string_view name;
  std::string_view evidence;  ///< "definition", "measured" or "published"
  Summation summation;
  SixteenBitOperands operands;
  Accumulator sixteen_bit;   ///< 16-bit operands
  Accumulator fp8_fast;      ///< FP8 operands, fast accumulation
  Accumulator fp8_promoted;  ///< FP8 operands, fast accumulation off
  NarrowAccumulation narrow_accumulation;
  int split_tile;  ///< products in the tile that split-K deals out
};

inline constexpr ArithmeticProfile kIdeal{
    .name = "ideal",
    .evidence = "definition",
    .summation = Summation::exact,
    .operands = SixteenBitOperands::bf16_and_f16,
    .sixteen_bit = {},
    .fp8_fast = {},
    .fp8_promoted = {},
    .narrow_accumulation = NarrowAccumulation::round_sum_once,
    .split_tile = 0,
};

/// NVIDIA H100 / H200 through cuBLASLt: tensor-core 1. Beyond what tensor-core 2 looked at, measured on an
/// H200 with cuBLASLt 13.1, 0 outputs that differ (properties/gemm_law, hardware_test):
/// - fp16 output follows bf16, product and sum rounded each;
/// - alpha with block scales comes last: z = RN(alpha * y);
/// - the tile does not matter: 64 algorithms that cuBLASLt offers without workspace, K up to 32768.
/// Plans have no FP8 output, no bias or activation, no batched or grouped product (ranks are calls of their
/// own), and products of fp32 are exact sums of ours, never TF32: of these nothing is said.
inline constexpr ArithmeticProfile kHopper{
    .name = "hopper",
    .evidence = "measured",
    .summation = Summation::aligned,
    .operands = SixteenBitOperands::bf16_and_f16,
    .sixteen_bit = {.products_per_step = 16, .alignment_bits = 25, .kept_bits = 23, .promotion_interval = 0},
    .fp8_fast = {.products_per_step = 32, .alignment_bits = 13, .kept_bits = 13, .promotion_interval = 0},
    .fp8_promoted = {.products_per_step = 32,
                     .alignment_bits = 13,
                     .kept_bits = 13,
                     .promotion_interval = 128},
    .narrow_accumulation = NarrowAccumulation::round_product_then_sum,
    .split_tile = 128,
};

/// A row of tensor-core 1.1: the accumulator of one matrix instruction, as published (microsoft/MMA-Sim,
/// arXiv 2511.10909) and not measured here. What a library adds to the instruction is not published: K is
/// taken to ascend and the epilogue to be that of `hopper`, and nothing is said of promotion, so that FP8
/// has a rule with fast accumulation only.
struct PublishedStep {
  int products_per_step, alignment_bits;
};
constexpr Accumulator published(PublishedStep step, int kept_bits) {
  return {step.products_per_step, step.alignment_bits, kept_bits, 0};
}
constexpr ArithmeticProfile published_profile(std::string_view name, SixteenBitOperands operands,
                                              const Accumulator& sixteen_bit, const Accumulator& fp8) {
  return {.name = name,
          .evidence = "published",
          .summation = Summation::aligned,
          .operands = operands,
          .sixteen_bit = sixteen_bit,
          .fp8_fast = fp8,
          .fp8_promoted = {},
          .narrow_accumulation = NarrowAccumulation::round_product_then_sum,
          .split_tile = 128};
}

/// mma.m8n8k4.
inline constexpr ArithmeticProfile kVolta =
    published_profile("volta", SixteenBitOperands::f16, published({4, 23}, 23), {});
/// mma.m16n8k8.
inline constexpr ArithmeticProfile kTuring =
    published_profile("turing", SixteenBitOperands::f16, published({8, 24}, 23), {});
/// mma.m16n8k16 in two steps.
inline constexpr ArithmeticProfile kAmpere =
    published_profile("ampere", SixteenBitOperands::bf16_and_f16, published({8, 24}, 23), {});
/// 16 bits as Ampere; FP8 in mma.m16n8k32, two steps that keep 13 bits.
inline constexpr ArithmeticProfile kAda = published_profile("ada", SixteenBitOperands::bf16_and_f16,
                                                            published({8, 24}, 23), published({16, 13}, 13));
/// Not wgmma, which is `hopper`.
inline constexpr ArithmeticProfile kHopperMmaSync = published_profile(
    "hopper-mma-sync", SixteenBitOperands::bf16_and_f16, published({16, 25}, 23), published({32, 25}, 23));
/// Without block-scaled operands, which no op of a plan has.
inline constexpr ArithmeticProfile kBlackwell = published_profile(
    "blackwell", SixteenBitOperands::bf16_and_f16, published({16, 25}, 23), published({32, 25}, 23));

inline constexpr std::array<const ArithmeticProfile*, 8> kProfiles = {
    &kIdeal, &kHopper, &kVolta, &kTuring, &kAmpere, &kAda, &kHopperMmaSync, &kBlackwell};

/// A chunk that is promoted is a whole number of steps, and a tile of split-K a whole number of chunks and
/// steps; otherwise steps would depend on where a chunk began.
constexpr bool steps_fit(const ArithmeticProfile& profile) {
  for (const Accumulator& accumulator : {profile.sixteen_bit, profile.fp8_fast, profile.fp8_promoted}) {
    if (!accumulator.exists()) continue;
    if (accumulator.promotion_interval % accumulator.products_per_step != 0) return false;
    if (profile.split_tile % accumulator.products_per_step != 0) return false;
    if (accumulator.promotion_interval != 0 && profile.split_tile % accumulator.promotion_interval != 0) {
      return false;
    }
  }
  return true;
}
static_assert([] {
  for (const ArithmeticProfile* profile : kProfiles) {
    if (!steps_fit(*profile)) return false;
  }
  return true;
}());

/// The profile of that name, or null.
constexpr const ArithmeticProfile* profile_named(std::string_view name) {
  for (const ArithmeticProfile* profile : kProfiles) {
    if (profile->name == name) return profile;
  }
  return nullptr;
}

}  // namespace shardcheck
