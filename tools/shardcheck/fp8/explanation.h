// Which casts explain pairs of inputs and codes, and where none does, the fewest pairs that show it. Next:
// infer.cpp, which reads the pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/numerics/named_cast.h"

namespace shardcheck::fp8 {

/// What a black box made of a number.
struct ObservedCast {
  std::uint32_t f32_bits;
  std::uint32_t code;
};

/// All casts that a black box could be: those with names, then every other combination of the five parts of a
/// policy, which is called by its parts ("toward zero, saturate, ...").
std::vector<NamedCast> possible_casts(FormatId format);

struct Explanation {
  std::vector<NamedCast> explaining;  ///< of the candidates, those that give every observed code
  /// Where nothing explains all: indices of the fewest pairs that no candidate explains together.
  std::vector<std::size_t> contradiction;
};
/// There is at least one candidate.
Explanation explain(std::span<const NamedCast> candidates, std::span<const ObservedCast> observed);

/// An input on which two casts into one format differ, or nothing where no input tells them apart.
std::optional<std::uint32_t> input_that_tells(const NamedCast& first, const NamedCast& second);

}  // namespace shardcheck::fp8
