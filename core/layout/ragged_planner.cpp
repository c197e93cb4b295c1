#include "core/layout/ragged_planner.h"

#include <algorithm>
#include <vector>

#include "core/layout/analysis/shard_sizes.h"

namespace shardcheck::layout {
namespace {

/// A tensor to place.
struct Piece {
  ParamId id;
  std::int64_t numel, block;
};

/// The offset of `piece` at or behind `cursor` with shards of `shard` elements, or -1.
std::int64_t offset_of(const Piece& piece, std::int64_t cursor, std::int64_t shard) {
  if (piece.numel == 0) return cursor;
  const std::int64_t boundary = (cursor / shard + 1) * shard;
  if (cursor + piece.numel <= boundary) return cursor;
  const std::int64_t offset = cursor + (boundary - cursor) % piece.block;
  if (shard % piece.block == 0) return offset;
  // Boundaries fall at different places of its blocks, so exactly one may fall inside it.
  if (offset < boundary && offset + piece.numel <= boundary + shard) return offset;
  if (piece.numel <= shard) return boundary;
  if (piece.numel > 2 * shard) return -1;
  const std::int64_t later = boundary + shard % piece.block;
  return later + piece.numel > boundary + 2 * shard ? -1 : later;
}

/// Fills `offsets`; false when the tensors do not fit into `world` shards.
bool place(std::span<const Piece> pieces, std::int64_t shard, std::int32_t world,
           std::vector<std::int64_t>& offsets) {
  std::int64_t cursor = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    offsets[i] = offset_of(pieces[i], cursor, shard);
    if (offsets[i] < 0) return false;
    cursor = offsets[i] + pieces[i].numel;
  }
  return cursor <= world * shard;
}

}  // namespace

Buffer plan_ragged(std::span<const Parameter> parameters, const RaggedPlanOptions& options) {
  std::vector<Piece> pieces;
  std::int64_t payload = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].tied_to) continue;
    const std::int64_t block =
        std::max<std::int64_t>(multiply_sizes(parameters[i].block_rows, parameters[i].row()), 1);
    pieces.push_back({ParamId{static_cast<std::int32_t>(i)}, parameters[i].numel(), block});
    payload = add_sizes(payload, pieces.back().numel);
  }
  // A shard that holds everything is feasible, so the search ends; twice that many elements bound every sum
  // below.
  const std::int64_t enough = round_up_size(payload, options.granularity);
  multiply_sizes(add_sizes(enough, options.granularity), 2 + options.world);
  std::vector<std::int64_t> offsets(pieces.size());
  // Sizes in which a tensor longer than two shards would have its blocks cut fail for certain.
  std::vector<Atoms> atoms;
  for (const Piece& piece : pieces) atoms.push_back({piece.numel, piece.block});
  const ShardSizes sizes(atoms, options.granularity);
  std::int64_t shard = sizes.next(std::max(options.granularity, div_ceil(payload, options.world)));
  while (!place(pieces, shard, options.world, offsets)) shard = sizes.next(shard + 1);

  Buffer buffer{.world = options.world, .cut = Cut::equal};
  buffer.size = multiply_sizes(options.world, shard);
  buffer.buckets.push_back({0, buffer.size, payload});
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    buffer.slots.push_back({pieces[i].id, offsets[i], offsets[i] + pieces[i].numel, 0, pieces[i].numel});
  }
  finish_buffer(buffer);
  return buffer;
}

}  // namespace shardcheck::layout
