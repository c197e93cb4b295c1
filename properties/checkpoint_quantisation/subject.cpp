#include "properties/checkpoint_quantisation/subject.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;
using checkpoint::StoredTensor;

std::vector<std::byte> bytes_of(const StoredTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.entry->end - tensor.entry->begin));
  tensor.file->read(*tensor.entry, 0, bytes);
  return bytes;
}

ScalePlane plane_of(const Subject& subject, const ScaleStorage& storage) {
  const Extent grid = subject.blocks().grid;
  const Extent turned = storage.transposed ? grid.transposed() : grid;
  return {subject.recipe().scale_format,
          grid,
          {round_up(turned.rows, storage.row_multiple), round_up(turned.columns, storage.column_multiple)},
          bytes_of(subject.pair().scales)};
}

/// Entries that are not zero and that no block has.
std::int64_t unclean(const ScalePlane& plane, const ScaleStorage& storage) {
  const std::vector<std::uint32_t> ones(static_cast<std::size_t>(plane.grid.numel()), 0xffffffffu);
  const std::vector<std::byte> mask = scale_plane(plane.format, storage, {plane.grid, ones}).bytes;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < mask.size(); ++i)
    count += mask[i] == std::byte{0} && plane.bytes[i] != std::byte{0} ? 1 : 0;
  return count;
}

}  // namespace

Subject::Subject(const Pair& pair, const Candidate& candidate, std::optional<StoredTensor> source)
    : pair_(pair),
      candidate_(candidate),
      blocks_(checkpoint::blocks_of(*candidate.recipe, candidate.view, pair.extent)),
      code_rows_(pair.codes, checkpoint::Turned::no) {
  if (source) {
    source_.emplace(*source, candidate.view.turned);
    SC_ASSERT(source_->extent() == pair.extent, "the source has another shape than the codes");
  }
  const bool is_padded = candidate.shape == checkpoint::ScaleShape::padded;
  const ScaleStorage storage = is_padded ? candidate.view.storage : ScaleStorage{};
  const ScalePlane plane = plane_of(*this, storage);
  scales_ = grid_in(plane, storage);
  // Only products that read swizzled scales read their padding (fp8 4.5 p2, F37).
  if (is_padded && recipe().swizzled_for_products) unclean_padding_ = unclean(plane, storage);
  if (recipe().formula == ScaleFormula::two_level) {
    const std::vector<std::byte> bytes = bytes_of(*pair.tensor_scale);
    std::memcpy(&tensor_inverse_, bytes.data(), sizeof(tensor_inverse_));
  }
}

std::optional<TensorScale> Subject::tensor_scale() const {
  if (recipe().formula != ScaleFormula::two_level) return TensorScale{};
  if (!std::isfinite(tensor_inverse_) || !(tensor_inverse_ > 0)) return std::nullopt;
  const float guess = largest_of(FormatId::ue4m3) * largest_of(pair_.elements) * tensor_inverse_;
  const auto bits = std::bit_cast<std::int32_t>(guess);
  constexpr std::int32_t kSteps = 4;  // three roundings lie between the two
  for (std::int32_t step = -kSteps; step <= kSteps; ++step) {
    const auto amax = std::bit_cast<float>(bits + step);
    const TensorScale scale = tensor_scale_of(recipe(), pair_.elements, amax);
    if (scale.inverse == tensor_inverse_) return scale;
  }
  const TensorScale of_zero = tensor_scale_of(recipe(), pair_.elements, 0);
  return of_zero.inverse == tensor_inverse_ ? std::optional(of_zero) : std::nullopt;
}

std::vector<std::uint8_t> Subject::codes(layout::Range rows) const {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(rows.numel() * pair_.extent.columns));
  if (pair_.elements != FormatId::e2m1) {
    code_rows_.read_stored(rows, std::as_writable_bytes(std::span(codes)));
    return codes;
  }
  std::vector<std::byte> packed(codes.size() / 2);
  code_rows_.read_stored(rows, packed);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(std::to_integer<unsigned>(packed[i / 2]) >> (i % 2 * 4) & 15);
  return codes;
}

}  // namespace shardcheck::verify
