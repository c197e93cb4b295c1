// One quantised copy that is judged: codes and scales of a file, the recipe that they are held against, and
// the source where it is known. Next: sweep.h.
#pragma once

#include <optional>
#include <vector>

#include "core/checkpoint/matrix_rows.h"
#include "core/recipe/strips.h"
#include "properties/checkpoint_quantisation/pairs.h"

namespace shardcheck::verify {

class Subject {
 public:
  /// `source` is the tensor that was quantised; its extent is that of the codes. Reads the scales. Throws
  /// Error(bad_input) when a file shrank meanwhile.
  Subject(const Pair& pair, const Candidate& candidate, std::optional<checkpoint::StoredTensor> source);

  const Pair& pair() const { return pair_; }
  const recipe::Recipe& recipe() const { return *candidate_.recipe; }
  const Candidate& candidate() const { return candidate_; }
  const Format& elements() const { return format_of(pair_.elements); }
  const recipe::Blocks& blocks() const { return blocks_; }
  /// Stored scales, one a block, row-major over the grid.
  const std::vector<std::uint32_t>& scales() const { return scales_; }
  /// Of the file; the inverse is 1 where the recipe has one level.
  float tensor_inverse() const { return tensor_inverse_; }
  /// The second level, as the formula of blocks needs it; nothing where no amax gives the stored inverse.
  std::optional<recipe::TensorScale> tensor_scale() const;
  /// Entries of the padding of the scales that are not zero.
  std::int64_t unclean_padding() const { return unclean_padding_; }

  /// One code an element.
  std::vector<std::uint8_t> codes(layout::Range rows) const;
  const std::optional<checkpoint::MatrixRows>& source() const { return source_; }

 private:
  const Pair& pair_;
  Candidate candidate_;
  recipe::Blocks blocks_;
  checkpoint::MatrixRows code_rows_;
  std::optional<checkpoint::MatrixRows> source_;
  std::vector<std::uint32_t> scales_;
  float tensor_inverse_ = 1;
  std::int64_t unclean_padding_ = 0;
};

}  // namespace shardcheck::verify
