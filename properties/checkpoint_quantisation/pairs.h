// Which tensors of a checkpoint are codes, which are their scales, and which recipes could have made a pair
// of them, by name, type and shape alone (F35). Next: sweep.h, which looks at the bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/quantized_copy.h"
#include "core/checkpoint/tensor_files.h"

namespace shardcheck::verify {

/// Codes and their scales.
struct Pair {
  std::string name;  ///< of the codes
  checkpoint::StoredTensor codes, scales;
  std::optional<checkpoint::StoredTensor> tensor_scale;  ///< of two levels
  FormatId elements = FormatId::e4m3;
  recipe::Extent extent;  ///< of the matrix of codes; two FP4 codes a byte count as two
  /// How its scales lie where both shapes fit: as the metadata of the file says, else as a grid.
  checkpoint::ScaleShape likely_shape = checkpoint::ScaleShape::grid;

  /// The tensor that was quantised, and which copy of it this is.
  std::string source_name() const;
  recipe::Direction copy() const;
};

/// A tensor that is codes by its type, and why no pair is made of it.
struct Unpaired {
  checkpoint::StoredTensor tensor;
  std::string sentence;
  bool is_wrong = true;  ///< false: only not looked at
};

struct Contents {
  std::vector<Pair> pairs;
  std::vector<Unpaired> unpaired;
  std::vector<checkpoint::StoredTensor> others;  ///< neither codes nor scales
};

/// Codes are matrices of F8_E4M3 or F8_E5M2 with NAME_scale_inv or NAME_scale beside them, and of U8 where
/// NAME_scale is F8_E4M3: two FP4 codes a byte. Only tensors that are chosen are looked at, by the name of
/// the source.
Contents contents_of(const checkpoint::TensorFiles& files,
                     const std::function<bool(const std::string& name)>& is_chosen);

/// A recipe that could have made a pair, and how its scales lie.
struct Candidate {
  const recipe::Recipe* recipe = nullptr;
  checkpoint::CopyView view;
  checkpoint::ScaleShape shape = checkpoint::ScaleShape::grid;
};

/// Nothing where types or shapes are not the recipe's.
std::optional<Candidate> candidate_of(const recipe::Recipe& recipe, const Pair& pair);
/// Of all recipes, in the order of the catalogue; where some give the scales their name, only of those.
std::vector<Candidate> candidates_of(const Pair& pair);

/// Whether the tensor has the shape and a type of what was quantised.
bool is_source_of(const Candidate& candidate, const Pair& pair, const checkpoint::StoredTensor& source);

/// What is wrong with types and shapes for the recipe, and what would be right.
std::string mismatch_of(const recipe::Recipe& recipe, const Pair& pair);
/// The same where no recipe has such types and shapes.
std::string mismatch_of_all(const Pair& pair);

}  // namespace shardcheck::verify
