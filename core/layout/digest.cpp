#include "core/layout/digest.h"

#include <fmt/format.h>

#include <vector>

namespace shardcheck::layout {
namespace {

void add_rank(Fnv1a& hash, const Buffer& buffer, Rank rank, std::vector<Segment>& segments) {
  segments.clear();
  std::vector<std::size_t> ends;  // of each bucket's segments
  std::int64_t pad = 0;
  for (std::int32_t bucket = 0; bucket < static_cast<std::int32_t>(buffer.buckets.size()); ++bucket) {
    pad += buffer.shard(rank, bucket).numel();
    buffer.append_segments(rank, bucket, segments);
    ends.push_back(segments.size());
  }
  for (const Segment& segment : segments) pad -= segment.p_hi - segment.p_lo;
  hash.add(rank.value);
  hash.add(pad);
  hash.add(static_cast<std::int64_t>(segments.size()));
  std::size_t bucket = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    while (i == ends[bucket]) ++bucket;
    const Segment& segment = segments[i];
    hash.add(static_cast<std::int64_t>(bucket));
    hash.add(segment.param.value);
    hash.add(segment.p_lo);
    hash.add(segment.p_hi);
    hash.add(segment.off);
  }
}

}  // namespace

std::uint64_t digest_of(const Buffer& buffer) {
  Fnv1a hash;
  std::vector<Segment> segments;
  const std::int32_t ranks = buffer.cut == Cut::replicated ? 1 : buffer.world;
  for (std::int32_t rank = 0; rank < ranks; ++rank) add_rank(hash, buffer, Rank{rank}, segments);
  return hash.value();
}

std::string hexadecimal(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace shardcheck::layout
