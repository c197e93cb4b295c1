// The rows of a stored matrix, as it lies or transposed, from any thread: how files feed recipe/strips.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checkpoint/tensor_files.h"
#include "core/layout/range.h"
#include "core/recipe/strips.h"

namespace shardcheck::checkpoint {

/// Whether rows are those of the transposed matrix.
enum class Turned : std::uint8_t { no, yes };

class MatrixRows {
 public:
  /// The tensor has two dimensions and a type of whole bytes.
  MatrixRows(const StoredTensor& tensor, Turned turned);

  recipe::Extent extent() const { return extent_; }

  /// Elements of some rows as they are stored. Throws Error(bad_input) when the file shrank meanwhile.
  void read_stored(layout::Range rows, std::span<std::byte> into) const;
  /// f32, bf16 or f16 elements as fp32. Exact.
  void read(layout::Range rows, std::span<float> into) const;

  /// Reads from this object, which must outlive it.
  recipe::RowSource source() const;

 private:
  StoredTensor tensor_;
  Turned turned_;
  recipe::Extent extent_;
  std::int64_t width_;  ///< bytes of an element
};

}  // namespace shardcheck::checkpoint
