// A case of the laws of products, F57 to F65, as a small value: the law that is asked, and a GEMM. A
// law changes the GEMM and its numbers as it needs (as_asked, numbers_of), so that every GEMM can be asked.
// Next: product_laws.h judges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "properties/gemm_law/gemm_case.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

enum class ProductLaw : std::uint8_t {
  exact_window,   ///< F57
  bound,          ///< F58
  scaled,         ///< F59
  one_signed,     ///< F60
  independent,    ///< F61
  special,        ///< F62
  beta,           ///< F63
  narrow_output,  ///< F64
  padded,         ///< F65
  equals_profile  ///< F66, of machines with a fault (properties/gemm_law asks it of the others)
};
inline constexpr int kProductLaws = 10;
/// "F57".
std::string_view clause_of(ProductLaw law);

struct ProductQuestion {
  ProductLaw law = ProductLaw::bound;
  GemmCase gemm;
  bool positive = false;   ///< operands without signs: truncation adds up
  std::int32_t power = 1;  ///< of two, on a scale (F59, F64)
  std::int32_t row = 0;    ///< rows are rotated by it (F61), or it has the NaN (F62); any number
  std::string fault;       ///< of the zoo of products, or empty
};

/// One law of a small GEMM, at most 20 x 12 x 300.
ProductQuestion random_product_question(Draw& draw);

/// The GEMM as its law asks it: no beta where C would hide the law, no scales where they would round.
GemmCase as_asked(const ProductQuestion& q);
/// Its numbers.
GemmInputs numbers_of(const ProductQuestion& q, const GemmCase& asked);

/// One operand of a GEMM by row and place in K, wherever its codes lie.
struct OperandCodes {
  DType type;
  std::span<std::byte> bytes;
  std::int64_t rows, k;
  bool by_k;  ///< K runs first

  std::uint32_t get(std::int64_t row, std::int64_t i) const;
  void set(std::int64_t row, std::int64_t i, std::uint32_t code) const;
};
OperandCodes operand_a(const GemmCase& c, GemmInputs& inputs);
OperandCodes operand_b(const GemmCase& c, GemmInputs& inputs);

std::string describe(const ProductQuestion& q);

}  // namespace shardcheck
