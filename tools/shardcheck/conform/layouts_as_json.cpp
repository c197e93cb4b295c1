#include "tools/shardcheck/conform/layouts_as_json.h"

#include "core/layout/digest.h"

namespace shardcheck::conform {

using layout::Buffer;
using nlohmann::json;

std::vector<Rank> recorded_ranks(std::int32_t world) {
  if (world > 8) return {Rank{0}, Rank{1}, Rank{world / 2}, Rank{world - 2}, Rank{world - 1}};
  std::vector<Rank> ranks;
  for (std::int32_t rank = 0; rank < world; ++rank) ranks.push_back(Rank{rank});
  return ranks;
}

namespace {

json rank_as_json(const Buffer& buffer, Rank rank) {
  std::int64_t numel = 0;
  std::int64_t pad = 0;
  json segments = json::array();
  for (std::int32_t bucket = 0; bucket < static_cast<std::int32_t>(buffer.buckets.size()); ++bucket) {
    const layout::RankLayout local = buffer.rank_layout(rank, bucket);
    numel += local.buf_numel;
    pad += local.pad_numel;
    for (const layout::Segment& s : local.segs) {
      segments.push_back({bucket, s.param.value, s.p_lo, s.p_hi, s.off});
    }
  }
  return {rank.value, numel, pad, segments};
}

}  // namespace

json buffer_as_json(const Buffer& buffer) {
  json buckets = json::array();
  for (const layout::Bucket& bucket : buffer.buckets)
    buckets.push_back({bucket.lo, bucket.hi, bucket.unpadded});
  json params = json::array();
  for (const std::int32_t listed : buffer.order) {
    const layout::Slot& slot = buffer.slots[listed];
    params.push_back({slot.param.value, slot.lo, slot.hi, slot.bucket});
  }
  json ranks = json::array();
  const bool replicated = buffer.cut == layout::Cut::replicated;
  for (const Rank rank : recorded_ranks(replicated ? 1 : buffer.world))
    ranks.push_back(rank_as_json(buffer, rank));
  return {{"world", buffer.world}, {"size", buffer.size},
          {"buckets", buckets},    {"params", params},
          {"ranks", ranks},        {"digest", layout::hexadecimal(layout::digest_of(buffer))}};
}

json sharded_buffer_as_json(const Buffer& buffer) {
  json result = buffer_as_json(buffer);
  result["shard"] = buffer.size / buffer.world;
  return result;
}

}  // namespace shardcheck::conform
