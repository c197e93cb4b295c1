// The machine that a law of formats is asked of: what decodes, encodes, packs and draws. Casts of E4M3 and
// E5M2 run on the backend, as Cast ops; formats that no op of a plan has, FP4 packing and stochastic rounding
// are core/numerics and core/recipe. A fault of the zoo takes the place of all of it. Read next:
// format_laws.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/numerics/named_cast.h"
#include "core/numerics/stochastic.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// Everything about numbers, one at a time; a fault is one of them changed.
struct NumberRules {
  float (*decoded)(const Format& format, std::uint32_t code);
  std::uint32_t (*encoded)(const NamedCast& cast, std::uint32_t f32_bits);
  /// The order in which the codes of a list are stored, done to them.
  void (*stored)(std::span<std::uint32_t> codes);
  std::vector<std::uint8_t> (*packed)(std::span<const std::uint8_t> codes);
  std::uint32_t (*drawn)(const NamedCast& cast, std::uint32_t f32_bits, RandomBits random);
};

/// Ours.
const NumberRules& number_rules();

class NumberMachine {
 public:
  /// The backend where an op of a plan exists for it, else our rules.
  explicit NumberMachine(Backend& backend) : backend_(&backend), rules_(number_rules()) {}
  /// Nothing but these rules.
  explicit NumberMachine(const NumberRules& rules) : backend_(nullptr), rules_(rules) {}

  /// Nothing where another process holds the rank.
  std::vector<float> decoded(const Format& format, std::span<const std::uint32_t> codes) const;
  /// Codes of fp32 numbers (bits) that `source` has. Nothing where another process holds the rank.
  std::vector<std::uint32_t> encoded(const NamedCast& cast, DType source,
                                     std::span<const std::uint32_t> f32_bits) const;
  const NumberRules& rules() const { return rules_; }

 private:
  Backend* backend_;
  const NumberRules& rules_;
};

/// True where Cast ops have the format.
bool is_cast_op(FormatId format);

}  // namespace shardcheck
