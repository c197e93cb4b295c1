// A GEMM case as JSON and back, for every kind of case that has one. For .cpp files only.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "properties/case_fields.h"
#include "properties/gemm_law/gemm_case.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<OperandLayout> {
  static constexpr std::string_view names[] = {"transposed", "plain"};
};
template <>
struct EnumNames<ScaleKind> {
  static constexpr std::string_view names[] = {"none", "tensor", "outer_vector", "1x128", "128x128"};
};
template <>
struct EnumNames<OperandFamily> {
  static constexpr std::string_view names[] = {"uniform",        "gaussian", "every_code",
                                               "wide_exponents", "sparse",   "subnormals"};
};
template <>
struct EnumNames<ScaleFamily> {
  static constexpr std::string_view names[] = {"ones", "powers_of_two", "any"};
};

template <>
struct FieldsOf<GemmCase> {
  template <class F>
  static void list(F& fields, GemmCase& c) {
    fields("m", c.op.m);
    fields("n", c.op.n);
    fields("k", c.op.k);
    fields("a_layout", c.op.a);
    fields("b_layout", c.op.b);
    fields("a", c.a);
    fields("b", c.b);
    fields("d", c.d);
    fields("scales_a", c.op.scales_a);
    fields("scales_b", c.op.scales_b);
    fields("fast_accumulation", c.op.fast_accumulation);
    fields("accumulate", c.op.accumulate);
    fields("alpha", c.op.alpha);
    fields("operands", c.operands);
    fields("scales", c.scales);
    fields("seed", c.seed);
  }
};

/// Refuses sizes that are none, more than `most_products` products, and operands that are no numbers.
inline void check_gemm(const GemmCase& c, const std::string& where, std::int64_t most_products) {
  constexpr std::int64_t kMostExtent = std::int64_t{1} << 20;
  for (const std::int64_t extent : {c.op.m, c.op.n, c.op.k}) {
    if (extent < 1 || extent > kMostExtent)
      throw bad_input(where, fmt::format("m, n and k are numbers from 1 to {}", kMostExtent));
  }
  if (c.op.m * c.op.n > most_products / c.op.k)
    throw bad_input(where, fmt::format("m n k is more than {} products", most_products));
  for (const DType type : {c.a, c.b, c.d}) {
    if (type == DType::u8) throw bad_input(where, "u8 is no type of a product");
  }
}

}  // namespace shardcheck::case_fields
