// Evidence of a broken copy: some of its broken blocks with all that is known of them, and codes and scales
// of the whole tensor where they fit memory, so that guesses can be tried. Next: explanation.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/checkpoint_quantisation/displacement.h"
#include "properties/checkpoint_quantisation/subject.h"
#include "properties/checkpoint_quantisation/sweep.h"

namespace shardcheck::verify {

/// A broken block, or a part of a large one.
struct Specimen {
  BrokenBlock broken;
  layout::Range rows, columns;      ///< of the matrix of codes
  std::vector<std::uint8_t> codes;  ///< of those, row by row
  // With a source:
  std::vector<float> values;
  std::vector<std::uint8_t> right;  ///< the codes that the recipe gives
  float amax = 0;                   ///< of the whole block
  recipe::BlockScale scale;         ///< that the recipe gives

  std::int64_t block() const { return broken.block; }
  std::int64_t wrong_codes() const;
  bool has_right_scale() const { return broken.scale == broken.right_scale; }
  /// Row-major position in the matrix of codes.
  std::int64_t element(std::size_t i, std::int64_t columns_of_matrix) const {
    const auto at = static_cast<std::int64_t>(i);
    return (rows.lo + at / columns.numel()) * columns_of_matrix + columns.lo + at % columns.numel();
  }
};

struct Evidence {
  const Subject& subject;
  std::vector<Specimen> specimens;  ///< spread over the broken blocks
  // With a source, one a block:
  std::vector<float> amaxes;
  std::vector<recipe::BlockScale> scales;
  recipe::TensorScale tensor;
  float tensor_amax = 0;
  std::vector<const recipe::Recipe*>
      likely_recipes;                              ///< others, which give nearly all scales that are stored
  std::vector<FormatId> likely_formats;            ///< other elements, whose largest number gives them
  std::vector<Displacement> likely_displacements;  ///< that bring nearly all scales to where they are stored
  // The whole tensor, where it fits memory; else empty.
  std::vector<std::uint8_t> codes, right;

  bool has_source() const { return subject.source().has_value(); }
  bool has_whole() const { return !codes.empty(); }
  const recipe::Recipe& recipe() const { return subject.recipe(); }
};

/// Blocks that are looked at closely.
inline constexpr std::size_t kMostSpecimens = 64;

/// Reads the tensor again, and with a source recomputes it. Throws Error(bad_input) when a file shrank
/// meanwhile.
Evidence gather(const Subject& subject, const Sweep& sweep, const SweepOptions& options);

/// What a guess comes to: the clause that is broken, the kind of difference, and of this block what is not
/// the same for all blocks of the kind.
struct Guess {
  std::string_view clause;
  std::string sentence;
  std::string detail;
};

}  // namespace shardcheck::verify
