#include "core/layout/analysis/padding.h"

#include <algorithm>
#include <numeric>

#include "core/integers.h"
#include "core/layout/mesh_cut.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

constexpr std::string_view kNames[] = {"alignment", "row",        "block",    "chunk",
                                       "balance",   "bucket end", "rank tail"};
constexpr std::string_view kSentences[] = {
    "a tensor starts at a multiple of 64 elements (Megatron) or 16 bytes (FSDP1)",
    "no row is cut",
    "no block of rows is cut",
    "a tensor's last chunk of C elements, where no other tensor fits",
    "no tensor is cut, and every shard is as long as the fullest",
    "a bucket is rounded up so that its shards are equal and aligned",
    "every rank's part is as long as the longest"};

/// Walks the slots of one bucket and hands out what lies between them.
class Walk {
 public:
  Walk(const Buffer& buffer, const Attributed& of, std::vector<Hole>& holes)
      : buffer_(buffer), of_(of), holes_(holes) {}

  void bucket(std::int32_t index) {
    const Bucket& bucket = buffer_.buckets[index];
    const std::span<const Slot> slots(buffer_.slots.data() + bucket.first_slot,
                                      static_cast<std::size_t>(bucket.slot_count));
    index_ = index;
    if (of_.layout == "megatron-layerwise" && buffer_.key.layerwise) return shards(bucket, slots);
    std::int64_t end = bucket.lo;
    for (const Slot& slot : slots) {
      if (slot.lo > end) between(end, slot);
      end = std::max(end, slot.hi);
      if (is_gap_packed() && slot.numel >= buffer_.chunk) gap_end_ = round_up_size(slot.hi, buffer_.chunk);
    }
    behind(bucket, slots, end);
  }

 private:
  void add(Range range, PaddingRule rule, ParamId because) {
    if (range.lo < range.hi) holes_.push_back({index_, range.lo, range.hi, rule, because});
  }

  bool is_gap_packed() const { return buffer_.chunk > 0; }

  /// Elements that a start of this tensor is a multiple of, for its rows alone.
  std::int64_t row_of(const Slot& slot) const {
    if (of_.layout == "megatron-fsdp-v1") return 1;  // its fragments start anywhere (B15)
    return std::max<std::int64_t>(of_.parameters[slot.param.value].row(), 1);
  }

  /// The padding before a tensor.
  void between(std::int64_t end, const Slot& slot) {
    if (of_.layout == "vescale-ragged") {
      const bool blocks = of_.parameters[slot.param.value].block_rows > 1;
      return add({end, slot.lo}, blocks ? PaddingRule::block : PaddingRule::row, slot.param);
    }
    if (!is_gap_packed()) return add({end, slot.lo}, PaddingRule::alignment, slot.param);
    // Up to the end of the last regular tensor's chunk; a fragment behind that starts at its own multiple.
    const bool is_fragment = slot.numel < buffer_.chunk;
    const std::int64_t in_tail = slot.lo >= gap_end_ ? std::max(end, gap_end_) : end;
    const std::int64_t from = is_fragment ? in_tail : slot.lo;
    add({end, from}, PaddingRule::chunk, slot.param);
    const std::int64_t rows = std::min(slot.lo, round_up_size(from, row_of(slot)));
    add({from, rows}, PaddingRule::row, slot.param);
    add({rows, slot.lo}, PaddingRule::block, slot.param);
  }

  /// The padding behind the last tensor.
  void behind(const Bucket& bucket, std::span<const Slot> slots, std::int64_t end) {
    const ParamId last = slots.empty() ? ParamId{-1} : slots.back().param;
    if (of_.layout == "vescale-ragged") return add({end, bucket.hi}, PaddingRule::rank_tail, last);
    if (of_.layout == "fsdp1-flat") {
      add({end, bucket.lo + buffer_.total}, PaddingRule::bucket_end, last);
      return add({std::max(end, bucket.lo + buffer_.total), bucket.hi}, PaddingRule::rank_tail, last);
    }
    std::int64_t from = end;
    if (is_gap_packed()) {
      from = std::max(end, gap_end_);
      add({end, from}, PaddingRule::chunk, last);
    } else if (of_.layout.starts_with("megatron-ddp") || of_.layout == "megatron-layerwise") {
      from = std::max(end, bucket.lo + bucket.unpadded);  // a shared embedding asks for 64 before it (2.3)
      add({end, from}, PaddingRule::alignment, last);
    }
    add({from, bucket.hi}, PaddingRule::bucket_end, last);
  }

  /// Tensor-atomic shards of one bucket: alignment inside, then up to the fullest, then up to q.
  void shards(const Bucket& bucket, std::span<const Slot> slots) {
    const std::int64_t shard = (bucket.hi - bucket.lo) / buffer_.world;
    std::int64_t longest = 0;
    for (const Slot& slot : slots) {
      if (slot.numel > 0) longest = std::max(longest, (slot.hi - bucket.lo - 1) % shard + 1);
    }
    std::int64_t at = bucket.lo;  // everything before it is accounted for
    const auto close_up_to = [&](std::int64_t place) {
      while (at < place) {
        const std::int64_t base = bucket.lo + (at - bucket.lo) / shard * shard;
        const bool is_empty = at == base;
        if (is_empty) {  // a run of shards without any tensor
          const std::int64_t until = bucket.lo + (place - bucket.lo) / shard * shard;
          if (until == base) return;
          add({base, until}, PaddingRule::balance, ParamId{-1});
          at = until;
          continue;
        }
        add({at, base + longest}, PaddingRule::balance, ParamId{-1});
        add({std::max(at, base + longest), base + shard}, PaddingRule::bucket_end, ParamId{-1});
        at = base + shard;
        if (at > place) at = place;
      }
    };
    for (const Slot& slot : slots) {
      const std::int64_t base = shard == 0 ? bucket.lo : bucket.lo + (slot.lo - bucket.lo) / shard * shard;
      if (at < base) close_up_to(base);
      add({at, slot.lo}, PaddingRule::alignment, slot.param);
      at = std::max(at, slot.hi);
    }
    if (shard > 0) close_up_to(bucket.hi);
  }

  const Buffer& buffer_;
  const Attributed& of_;
  std::vector<Hole>& holes_;
  std::int32_t index_ = 0;
  std::int64_t gap_end_ = 0;  ///< of the chunk that the last regular tensor ends in
};

bool is_flat(const Buffer& buffer) {
  return buffer.cut != Cut::per_parameter && buffer.cut != Cut::mesh;
}

}  // namespace

std::string_view name_of(PaddingRule rule) {
  return kNames[static_cast<int>(rule)];
}

std::string_view sentence_of(PaddingRule rule) {
  return kSentences[static_cast<int>(rule)];
}

std::int64_t PaddingSums::total() const {
  return std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
}

std::vector<Hole> holes_of(const Buffer& buffer, const Attributed& of) {
  std::vector<Hole> holes;
  if (!is_flat(buffer)) return holes;
  Walk walk(buffer, of, holes);
  for (std::size_t b = 0; b < buffer.buckets.size(); ++b) walk.bucket(static_cast<std::int32_t>(b));
  return holes;
}

std::int64_t payload_of(const Buffer& buffer) {
  std::int64_t payload = 0;
  for (const Slot& slot : buffer.slots) payload = add_sizes(payload, slot.numel);
  return payload;
}

std::int64_t padding_in(const Buffer& buffer) {
  if (buffer.cut != Cut::mesh) return buffer.size - payload_of(buffer);
  return buffer.size - multiply_sizes(payload_of(buffer), mesh_replicas(*buffer.mesh));
}

std::int64_t padding_behind(const Buffer& buffer, const Slot& slot) {
  return multiply_sizes(buffer.world, slot.hi - slot.lo) - slot.numel;
}

PaddingSums padding_of(const Buffer& buffer, const Attributed& of) {
  PaddingSums sums;
  if (!is_flat(buffer)) {
    const bool cuts_rows = of.layout == "zero3-flat";
    sums[cuts_rows ? PaddingRule::rank_tail : PaddingRule::row] = padding_in(buffer);
    return sums;
  }
  for (const Hole& hole : holes_of(buffer, of)) sums[hole.rule] += hole.hi - hole.lo;
  return sums;
}

}  // namespace shardcheck::layout
