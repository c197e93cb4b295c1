#include "core/checkpoint/matrix_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/assert.h"
#include "core/numerics/widen.h"

namespace shardcheck::checkpoint {
namespace {

constexpr std::int64_t kTile = 64;  ///< rows whose lines stay in cache while their columns are written

/// Elements of `width` bytes: `from` has rows x columns, `into` gets columns x rows.
void transpose(std::int64_t width, recipe::Extent extent, const std::byte* from, std::byte* into) {
  for (std::int64_t tile = 0; tile < extent.rows; tile += kTile) {
    const std::int64_t end = std::min(tile + kTile, extent.rows);
    for (std::int64_t c = 0; c < extent.columns; ++c) {
      for (std::int64_t r = tile; r < end; ++r)
        std::memcpy(into + (c * extent.rows + r) * width, from + (r * extent.columns + c) * width,
                    static_cast<std::size_t>(width));
    }
  }
}

}  // namespace

MatrixRows::MatrixRows(const StoredTensor& tensor, Turned turned)
    : tensor_(tensor), turned_(turned), width_(tensor.entry->type.bits / 8) {
  SC_ASSERT(tensor.entry->shape.size() == 2 && tensor.entry->type.bits % 8 == 0,
            "not a matrix of elements of whole bytes");
  const recipe::Extent stored{tensor.entry->shape[0], tensor.entry->shape[1]};
  extent_ = turned == Turned::yes ? stored.transposed() : stored;
}

void MatrixRows::read_stored(layout::Range rows, std::span<std::byte> into) const {
  SC_ASSERT(std::ssize(into) == rows.numel() * extent_.columns * width_, "not the bytes of the rows");
  if (turned_ == Turned::no) {
    tensor_.file->read(*tensor_.entry, rows.lo * extent_.columns * width_, into);
    return;
  }
  // A row of the transposed matrix is a column of the stored one: a piece of every stored row is read.
  const recipe::Extent piece{extent_.columns, rows.numel()};
  std::vector<std::byte> pieces(into.size());
  const auto bytes = static_cast<std::size_t>(piece.columns * width_);
  for (std::int64_t r = 0; r < piece.rows; ++r) {
    tensor_.file->read(*tensor_.entry, (r * extent_.rows + rows.lo) * width_,
                       std::span(pieces).subspan(static_cast<std::size_t>(r) * bytes, bytes));
  }
  transpose(width_, piece, pieces.data(), into.data());
}

void MatrixRows::read(layout::Range rows, std::span<float> into) const {
  SC_ASSERT(tensor_.entry->type.dtype.has_value(), "the type is not one that is widened");
  const std::size_t bytes = into.size() * static_cast<std::size_t>(width_);
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  read_stored(rows, {stored.get(), bytes});
  widen(*tensor_.entry->type.dtype, {stored.get(), bytes}, into);
}

recipe::RowSource MatrixRows::source() const {
  return {extent_, [this](layout::Range rows, std::span<float> into) { read(rows, into); }};
}

}  // namespace shardcheck::checkpoint
