// Straddling: which quantisation blocks of a tensor lie on more than one rank, so that their ranks must agree
// on an amax before any of them can quantise (L8, L27; shard-layouts 4, straddle accounting). Blocks are
// counted by global row and column; a count costs the boundaries inside the tensor, not its blocks.
// Next: ownership.h, where the boundaries come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/ownership.h"

namespace shardcheck::layout {

/// Rows and columns that share one scale. Of a tensor with more than two dimensions the last two form
/// matrices; what the last block of a matrix lacks is missing, not padded.
struct BlockShape {
  std::int64_t rows = 1, columns = 1;
  bool operator==(const BlockShape&) const = default;
};

/// "128x128". Throws Error(bad_input) naming `where`.
BlockShape block_shape_in(std::string_view text, const std::string& where);

/// One block: the matrix of the tensor, and its row and column of blocks.
struct BlockIndex {
  std::int64_t matrix = 0, row = 0, column = 0;
  bool operator==(const BlockIndex&) const = default;
};

/// Neighbouring blocks of one block row that the same ranks share.
struct SharedBlocks {
  BlockIndex first;
  std::int64_t count = 0;   ///< along the block row
  std::vector<Rank> ranks;  ///< ascending, at least two
  bool operator==(const SharedBlocks&) const = default;
};

struct Straddle {
  std::int64_t blocks = 0;      ///< of the tensor
  std::int64_t straddling = 0;  ///< on more than one rank
};

/// The blocks of a tensor under a layout; a tensor with fewer than two dimensions is one row.
class Straddling {
 public:
  /// Both must outlive it; the parameter must be held.
  Straddling(const Ownership& ownership, const Parameter& parameter, ParamId id, BlockShape shape);

  /// Of replica 0, for every cut. Cost: the boundaries in the tensor, or the extents for Cut::mesh.
  Straddle count() const;

  /// Blocks that a boundary before `element` cuts, if there were one.
  std::int64_t cut_at(std::int64_t element) const;

  /// The ranks of replica 0 that hold part of a block, ascending. Cost: its pieces.
  std::vector<Rank> ranks_of(BlockIndex block) const;

  /// All straddling blocks in order with their ranks, until `most` groups were found. Cost: boundaries
  /// times the blocks that each cuts.
  std::vector<SharedBlocks> shared(std::size_t most) const;

 private:
  std::int64_t row_blocks() const;
  std::int64_t column_blocks() const;
  bool is_contiguous() const;
  Range rows_of(std::int64_t block_row) const;
  Range columns_of(std::int64_t block_column) const;
  /// Columns of blocks that a boundary before element `y` of a matrix cuts in the block row of y.
  Range columns_cut_at(std::int64_t y) const;
  /// Calls `each(matrix, block row, columns of blocks that are cut)`, ascending, until it returns false.
  template <class Each>
  void for_each_cut(Each each) const;
  template <class Each>
  void for_each_cut_in_grid(Each each) const;
  /// Where the owner changes along dimension 0 (rows) or 1 (columns) of a matrix.
  std::vector<std::int64_t> changes_along(int dimension) const;

  const Ownership& ownership_;
  ParamId id_;
  BlockShape shape_;
  std::int64_t matrices_ = 1, rows_ = 1, columns_ = 1;
  std::int64_t numel_ = 0;
};

}  // namespace shardcheck::layout
