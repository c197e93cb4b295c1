// Displacements: ways in which elements of a matrix come to lie in wrong places. Next: place_guesses.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/recipe/recipe.h"

namespace shardcheck::verify {

/// Where an element belongs that is found at `at`, both row-major; nothing where it would be padding.
struct Displacement {
  enum class Kind : std::uint8_t { transposed, shifted, padded_rows } kind = Kind::shifted;
  std::int64_t by = 0;  ///< elements of a shift, or of the padding behind each row
  std::optional<std::int64_t> from(std::int64_t at, recipe::Extent extent) const;
  bool operator==(const Displacement&) const = default;
};

/// "shifted by 16 elements".
std::string text_of(const Displacement& displacement, std::string_view noun);

/// Every displacement that is tried.
std::vector<Displacement> displacements();

}  // namespace shardcheck::verify
