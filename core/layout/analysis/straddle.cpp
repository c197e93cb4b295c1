#include "core/layout/analysis/straddle.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/assert.h"
#include "core/error.h"
#include "core/integers.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

std::optional<std::int64_t> extent_in(std::string_view text) {
  std::int64_t extent = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, extent);
  if (error != std::errc{} || rest != end || extent < 1) return std::nullopt;
  return extent;
}

/// Ranges of block numbers along `extent` that one of the changes cuts.
std::vector<Range> cut_blocks(const std::vector<std::int64_t>& changes, std::int64_t block) {
  std::vector<Range> cut;
  for (const std::int64_t change : changes) {
    if (change % block == 0) continue;
    const std::int64_t number = change / block;
    if (!cut.empty() && cut.back().hi > number) continue;
    if (!cut.empty() && cut.back().hi == number) {
      ++cut.back().hi;
    } else {
      cut.push_back({number, number + 1});
    }
  }
  return cut;
}

bool is_in(const std::vector<Range>& ranges, std::int64_t number) {
  return std::ranges::any_of(ranges, [&](const Range& r) { return r.lo <= number && number < r.hi; });
}

}  // namespace

BlockShape block_shape_in(std::string_view text, const std::string& where) {
  const auto cross = text.find('x');
  if (cross != std::string_view::npos) {
    const auto rows = extent_in(text.substr(0, cross));
    const auto columns = extent_in(text.substr(cross + 1));
    if (rows && columns) return {*rows, *columns};
  }
  throw bad_input(where, "\"" + std::string(text) +
                             "\" is not a block; write rows x columns, such as 128x128, "
                             "1x32 or 32x1");
}

Straddling::Straddling(const Ownership& ownership, const Parameter& parameter, ParamId id, BlockShape shape)
    : ownership_(ownership), id_(id), shape_(shape), numel_(ownership.numel(id)) {
  const auto& extents = parameter.shape;
  if (!extents.empty()) columns_ = extents.back();
  if (extents.size() > 1) rows_ = extents[extents.size() - 2];
  for (std::size_t d = 0; d + 2 < extents.size(); ++d) matrices_ = multiply_sizes(matrices_, extents[d]);
}

std::int64_t Straddling::row_blocks() const {
  return div_ceil(rows_, shape_.rows);
}
std::int64_t Straddling::column_blocks() const {
  return div_ceil(columns_, shape_.columns);
}
Range Straddling::rows_of(std::int64_t block_row) const {
  return {block_row * shape_.rows, std::min(rows_, (block_row + 1) * shape_.rows)};
}
Range Straddling::columns_of(std::int64_t block_column) const {
  return {block_column * shape_.columns, std::min(columns_, (block_column + 1) * shape_.columns)};
}

bool Straddling::is_contiguous() const {
  return ownership_.buffer_of(id_).cut != Cut::mesh && ownership_.slot_of(id_).pieces == 1;
}

Range Straddling::columns_cut_at(std::int64_t y) const {
  const Range rows = rows_of(y / columns_ / shape_.rows);
  if (y == rows.lo * columns_) return {0, 0};  // between two block rows
  // A block is cut when its first element lies before y and its last one does not.
  const std::int64_t ends_from = y - (rows.hi - 1) * columns_ + 1, begins_until = y - rows.lo * columns_ - 1;
  return {div_ceil(std::max<std::int64_t>(ends_from, 1), shape_.columns) - 1,
          std::min(column_blocks(), begins_until / shape_.columns + 1)};
}

std::int64_t Straddling::cut_at(std::int64_t element) const {
  if (numel_ == 0) return 0;
  return std::max<std::int64_t>(columns_cut_at(element % (rows_ * columns_)).numel(), 0);
}

template <class Each>
void Straddling::for_each_cut(Each each) const {
  if (numel_ == 0) return;
  if (!is_contiguous()) return for_each_cut_in_grid(each);
  const std::int64_t matrix_numel = rows_ * columns_;
  std::int64_t open_matrix = -1, open_row = -1;
  std::vector<Range> columns;  // of the open block row
  const auto hand_over = [&] { return columns.empty() || each(open_matrix, open_row, columns); };
  for (std::int64_t x = ownership_.at(id_, 0, 0).p_hi; x < numel_; x = ownership_.at(id_, x, 0).p_hi) {
    const std::int64_t matrix = x / matrix_numel, y = x % matrix_numel;
    const std::int64_t block_row = y / columns_ / shape_.rows;
    if (matrix != open_matrix || block_row != open_row) {
      if (!hand_over()) return;
      columns.clear();
      open_matrix = matrix;
      open_row = block_row;
    }
    Range cut = columns_cut_at(y);
    if (!columns.empty()) cut.lo = std::max(cut.lo, columns.back().hi);
    if (cut.lo >= cut.hi) continue;
    if (!columns.empty() && columns.back().hi == cut.lo) {
      columns.back().hi = cut.hi;
    } else {
      columns.push_back(cut);
    }
  }
  hand_over();
}

std::vector<std::int64_t> Straddling::changes_along(int dimension) const {
  std::vector<std::int64_t> changes;
  const std::int64_t stride = dimension == 0 ? columns_ : 1;
  const std::int64_t extent = dimension == 0 ? rows_ : columns_;
  Rank before = ownership_.at(id_, 0, 0).rank;
  for (std::int64_t i = 1; i < extent; ++i) {
    const Rank rank = ownership_.at(id_, i * stride, 0).rank;
    if (rank != before) changes.push_back(i);
    before = rank;
  }
  return changes;
}

/// Every mesh axis cuts one dimension, so a block is cut when its rows or its columns are.
template <class Each>
void Straddling::for_each_cut_in_grid(Each each) const {
  const std::vector<Range> rows = cut_blocks(changes_along(0), shape_.rows);
  const std::vector<Range> columns = cut_blocks(changes_along(1), shape_.columns);
  if (rows.empty() && columns.empty()) return;
  const std::vector<Range> all{{0, column_blocks()}};
  for (std::int64_t matrix = 0; matrix < matrices_; ++matrix) {
    for (std::int64_t row = 0; row < row_blocks(); ++row) {
      const std::vector<Range>& cut = is_in(rows, row) ? all : columns;
      if (!cut.empty() && !each(matrix, row, cut)) return;
    }
  }
}

Straddle Straddling::count() const {
  Straddle result{multiply_sizes(matrices_, multiply_sizes(row_blocks(), column_blocks())), 0};
  for_each_cut([&](std::int64_t, std::int64_t, const std::vector<Range>& columns) {
    for (const Range& cut : columns) result.straddling += cut.numel();
    return true;
  });
  return result;
}

std::vector<Rank> Straddling::ranks_of(BlockIndex block) const {
  SC_ASSERT(block.row < row_blocks() && block.column < column_blocks(), "a block outside its tensor");
  std::vector<Rank> ranks;
  const Range rows = rows_of(block.row), columns = columns_of(block.column);
  const std::int64_t base = block.matrix * rows_ * columns_;
  std::int64_t row = rows.lo;
  while (row < rows.hi) {
    std::int64_t at = base + row * columns_ + columns.lo;
    const std::int64_t end = base + row * columns_ + columns.hi;
    while (at < end) {
      const Holding holding = ownership_.at(id_, at, 0);
      if (ranks.empty() || ranks.back() != holding.rank) ranks.push_back(holding.rank);
      at = holding.p_hi;
    }
    // Rows of the block that the last piece covers need no look.
    row = std::max(row + 1, div_floor(at - base - columns.hi, columns_) + 1);
  }
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

std::vector<SharedBlocks> Straddling::shared(std::size_t most) const {
  std::vector<SharedBlocks> found;
  for_each_cut([&](std::int64_t matrix, std::int64_t row, const std::vector<Range>& columns) {
    for (const Range& cut : columns) {
      for (std::int64_t column = cut.lo; column < cut.hi; ++column) {
        const BlockIndex block{matrix, row, column};
        std::vector<Rank> ranks = ranks_of(block);
        const bool continues = column > cut.lo && found.back().ranks == ranks;
        if (continues) {
          ++found.back().count;
          continue;
        }
        if (found.size() == most) return false;
        found.push_back({block, 1, std::move(ranks)});
      }
    }
    return true;
  });
  return found;
}

}  // namespace shardcheck::layout
