// Sharded checkpoints: a folder with one safetensors file a rank and an index. Saved from the storage that
// ranks hold under one layout and loaded into that of another, any worlds, streaming: memory does not grow
// with the model. A folder appears whole or not at all, and an old one stays until then (L18). Next:
// sharded_index.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/checkpoint/sharded_index.h"
#include "core/layout/reshard.h"

namespace shardcheck::checkpoint {

/// A place in the storage of a rank, of one parameter. A parameter that no buffer holds has buffer and bucket
/// -1, rank 0, and its element as offset.
struct StoragePlace {
  ParamId param;
  layout::Spot spot;
};

/// Fills `into` with the elements from that place on.
using ReadStorage = std::function<void(const StoragePlace&, std::span<std::byte> into)>;
/// Takes elements for that place.
using WriteStorage = std::function<void(const StoragePlace&, std::span<const std::byte> from)>;

/// Saves into `folder`, which may be absent, empty, or an older checkpoint, which is replaced. Throws
/// Error(bad_input) when it is anything else, Error(machine_cannot) when it cannot be written; then nothing
/// has changed.
void save_sharded(const std::filesystem::path& folder, const layout::Ownership& ownership,
                  std::span<const layout::Parameter> parameters, std::string_view layout_name,
                  const ReadStorage& read);

/// A checkpoint on disk whose index and headers have been checked against each other.
class ShardedCheckpoint {
 public:
  /// Throws Error(bad_input) with a sentence that names file, tensor and field: a missing, truncated or
  /// duplicated shard, an element that nobody saved, a length that does not fit.
  explicit ShardedCheckpoint(const std::filesystem::path& folder);
  ~ShardedCheckpoint();

  const ShardedIndex& index() const { return index_; }

  /// Hands every element of every parameter to its holders under `ownership`, all replicas. Throws
  /// Error(bad_input) before anything is written when a parameter is missing or has another dtype or shape.
  void load(const layout::Ownership& ownership, std::span<const layout::Parameter> parameters,
            const WriteStorage& write) const;

  /// The same checkpoint in another folder, as the ranks of `ownership` would save it.
  void reshard(const std::filesystem::path& folder, const layout::Ownership& ownership,
               std::span<const layout::Parameter> parameters, std::string_view layout_name) const;

 private:
  struct Shard;
  const SavedTensor& tensor_of(const layout::Parameter& parameter) const;
  void read(const SavedTensor& tensor, std::int64_t element, std::span<std::byte> into) const;

  std::filesystem::path folder_;
  ShardedIndex index_;
  std::map<std::string_view, std::size_t> by_name_;  ///< positions in index_.tensors, which never moves
  std::vector<Shard> shards_;
};

}  // namespace shardcheck::checkpoint
