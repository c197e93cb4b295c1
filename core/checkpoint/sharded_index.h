// The index of a sharded checkpoint: which file holds which element ranges of which tensor, and where. One
// file a rank; each element is in exactly one file and padding is in none (L18), so the index does not depend
// on the world that loads it. Next: sharded.h writes and reads the files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/ownership.h"

namespace shardcheck::checkpoint {

/// Elements [lo, hi) of a tensor, at `at` elements of the tensor of the same name in a file.
struct SavedPiece {
  std::int32_t file = 0;
  std::int64_t lo = 0, hi = 0;
  std::int64_t at = 0;
  bool operator==(const SavedPiece&) const = default;
};

struct SavedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<SavedPiece> pieces;  ///< ascending by lo
  std::int64_t numel() const;      ///< of the whole tensor
  bool operator==(const SavedTensor&) const = default;
};

struct ShardedIndex {
  std::string layout;              ///< name of the layout that saved it, for people
  std::vector<std::string> files;  ///< one a rank, empty shards included
  std::vector<SavedTensor> tensors;
  bool operator==(const ShardedIndex&) const = default;
};

/// The index of a model under a layout. Aliases of tied parameters are saved with their storage; parameters
/// that no buffer holds (frozen ones in gradient buffers) are saved whole by rank 0. Replicas are saved once.
ShardedIndex index_of(const layout::Ownership& ownership, std::span<const layout::Parameter> parameters,
                      std::string_view layout_name);

/// Elements of a tensor that one file holds.
std::int64_t held_in(const SavedTensor& tensor, std::int32_t file);

/// Throws Error(bad_input) naming `where`, tensor and field unless every element of every tensor is saved
/// exactly once, in an existing file, and each file's part of it has no holes.
void check_index(const ShardedIndex& index, const std::string& where);

std::string to_json(const ShardedIndex& index);

/// Reads and checks an index. Throws Error(bad_input).
ShardedIndex parse_index(std::string_view json, const std::string& where);

}  // namespace shardcheck::checkpoint
