#include "sim/cost/pieces.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/assert.h"

namespace shardcheck::cost {
namespace {

using layout::Bucket;
using layout::Buffer;
using layout::Range;
using layout::Slot;

std::int64_t overlap(Range a, Range b) {
  return std::max<std::int64_t>(0, std::min(a.hi, b.hi) - std::max(a.lo, b.lo));
}

/// One bucket of one buffer, seen from one rank.
class Bucketful {
 public:
  Bucketful(const Buffer& buffer, std::int32_t number, Rank rank)
      : buffer_(buffer),
        bucket_(buffer.buckets[number]),
        shard_(buffer.shard(rank, number)),
        slots_(buffer.slots.data() + bucket_.first_slot, static_cast<std::size_t>(bucket_.slot_count)) {}

  std::vector<Piece> whole() const {
    Piece piece{.whole = bucket_.hi - bucket_.lo, .own = shard_.numel()};
    for (const Slot& slot : slots_) piece.tensors.push_back(slot.param);
    return {piece};
  }

  std::vector<Piece> by_unit(std::span<const layout::Parameter> parameters) const {
    SC_ASSERT(buffer_.cut == layout::Cut::per_parameter, "a unit of a flat buffer has no part of its own");
    std::vector<Piece> pieces;
    std::map<std::optional<std::int32_t>, std::size_t> known;
    for (const Slot& slot : slots_) {
      const auto [found, is_new] = known.try_emplace(parameters[slot.param.value].unit, pieces.size());
      if (is_new) pieces.emplace_back();
      Piece& piece = pieces[found->second];
      piece.tensors.push_back(slot.param);
      piece.own += slot.hi - slot.lo;
      piece.whole += (slot.hi - slot.lo) * buffer_.world;
    }
    return pieces;
  }

  /// From the end, as backward fills them; the padding behind the last tensor travels with it.
  std::vector<Piece> by_run(std::int64_t most) const {
    std::vector<Piece> pieces;
    std::int64_t end = bucket_.hi, begin = bucket_.hi;
    const auto close = [&] {
      pieces.back().whole = end - begin;
      pieces.back().own = overlap(shard_, {begin, end});
      std::ranges::reverse(pieces.back().tensors);
      end = begin;
    };
    for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) {
      const bool is_full = !pieces.empty() && end - slot->lo > most;
      if (is_full) close();
      if (is_full || pieces.empty()) pieces.emplace_back();
      pieces.back().tensors.push_back(slot->param);
      begin = slot->lo;
    }
    if (!pieces.empty()) close();
    return pieces;
  }

 private:
  const Buffer& buffer_;
  const Bucket& bucket_;
  Range shard_;
  std::span<const Slot> slots_;
};

std::vector<Piece> cut(const Bucketful& bucketful, std::span<const layout::Parameter> parameters,
                       const PieceOptions& options) {
  switch (options.grain) {
    case Grain::bucket: return bucketful.whole();
    case Grain::unit: return bucketful.by_unit(parameters);
    case Grain::run: break;
  }
  return bucketful.by_run(options.run);
}

}  // namespace

std::vector<Piece> pieces_of(const layout::Layout& layout, std::span<const layout::Parameter> parameters,
                             std::span<const Rank> ranks, const PieceOptions& options) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> piece_of(parameters.size());
  for (std::size_t b = 0; b < layout.buffers.size(); ++b) {
    const Buffer& buffer = layout.buffers[b];
    if (!buffer.key.requires_grad) continue;
    for (std::int32_t k = 0; k < std::ssize(buffer.buckets); ++k) {
      if (buffer.buckets[k].slot_count == 0) continue;
      const std::size_t first = pieces.size();
      for (Piece& piece : cut(Bucketful(buffer, k, ranks[b]), parameters, options)) {
        for (const ParamId tensor : piece.tensors) piece_of[tensor.value] = pieces.size();
        piece.expert = parameters[piece.tensors.front().value].expert;
        pieces.push_back(std::move(piece));
      }
      for (const layout::Segment& segment : buffer.rank_layout(ranks[b], k).segs)
        pieces[piece_of[segment.param.value]].held += segment.p_hi - segment.p_lo;
      if (options.sharded != Sharded::nothing) continue;
      for (std::size_t i = first; i < pieces.size(); ++i) {
        pieces[i].own = pieces[i].whole;
        pieces[i].held = 0;
        for (const ParamId tensor : pieces[i].tensors) pieces[i].held += parameters[tensor.value].numel();
      }
    }
  }
  return pieces;
}

}  // namespace shardcheck::cost
