// Dot products by a GEMM, many at once: the i-th lies in row i of A and column i of B, so that the diagonal
// of D holds the results. A dot product is a few terms at chosen places of K; all else is zero. Read next:
// accumulator.h, which asks them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/plan/op.h"
#include "core/tensor/dtype.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Which op multiplies.
enum class GemmOp : std::uint8_t {
  matmul,  ///< Matmul, A transposed and B plain (TN)
  wgrad,   ///< Gemm: tokens are K
};

/// What multiplies what.
struct DotRule {
  GemmOp op = GemmOp::matmul;
  DType a = DType::bf16, b = DType::bf16, d = DType::f32;
  bool fast_accumulation = false;
};

/// "e4m3 x e4m3, fast"; "bf16 x bf16, wgrad".
std::string describe(const DotRule& rule);

/// A term: codes of A and B at a place of K.
struct Term {
  std::int64_t k;
  std::uint32_t a, b;
};
using Dot = std::vector<Term>;

/// Sizes and end of the GEMM. `c` is a code of D's type a dot product: beta = 1 when there are any.
struct DotSetting {
  std::int64_t k = 64;
  float alpha = 1;
  std::vector<std::uint32_t> c;
};

inline constexpr std::int64_t kDotsAtOnce = 64;  ///< m and n: what libraries take

/// D of every dot product, at most kDotsAtOnce. FP8 operands get the tensor scale 1.
std::vector<std::uint32_t> multiply(Backend& backend, const DotRule& rule, std::span<const Dot> dots,
                                    const DotSetting& setting);

/// As evidence.
Probe probe_of(const DotRule& rule, const Dot& dot, const DotSetting& setting, std::uint32_t result);

/// A number as sign, 1 or 1.5, and a power of two.
enum class Significand : std::uint8_t { one, one_and_a_half };
struct SimpleNumber {
  int exponent = 0;
  Significand significand = Significand::one;
  bool is_negative = false;
};
/// The code, or nothing where `type` has none. Only `one` may be subnormal.
std::optional<std::uint32_t> code_of(DType type, const SimpleNumber& number);

/// Exponents of products of normal numbers: [least, most].
struct ExponentRange {
  int least, most;
};
ExponentRange normal_products(const DotRule& rule);

/// The term whose product is `number`, at place k; the sign and the 1.5 are A's. Nothing where there are no
/// such codes.
std::optional<Term> term_of(const DotRule& rule, std::int64_t k, const SimpleNumber& number);

}  // namespace shardcheck
