#include "core/layout/megatron_ddp_packed.h"

#include "core/layout/rejection.h"

namespace shardcheck::layout {
namespace {

std::int64_t packed_numel(const Slot& slot, const Parameter& parameter) {
  if (parameter.quantized != Quantized::nvfp4) return slot.numel;
  if (slot.numel % 2 != 0) {
    throw Rejected(Reason::odd_numel, parameter.name,
                   "NVFP4 packs two elements a byte, so the number of elements must be even");
  }
  return slot.numel / 2;
}

}  // namespace

PackedSpace pack_nvfp4(const Buffer& buffer, std::span<const Parameter> parameters,
                       const MegatronDdpOptions& options) {
  const std::int64_t granularity = ddp_bucket_granularity(buffer.world, options);
  PackedSpace space;
  std::int64_t cursor = 0;
  std::int64_t start = 0;
  std::int32_t bucket = 0;
  const auto close = [&] {
    space.unpadded += cursor - start;
    const std::int64_t end = round_up_size(cursor, granularity);
    space.buckets.push_back({start, end});
    start = cursor = end;
  };
  for (const std::int32_t listed : buffer.order) {
    const Slot& slot = buffer.slots[listed];
    // Rounded before a bucket closes, so "unpadded" of a closed bucket contains alignment padding.
    cursor = round_up_size(cursor, 64);
    if (slot.bucket != bucket) {
      close();
      bucket = slot.bucket;
    }
    const std::int64_t numel = packed_numel(slot, parameters[slot.param.value]);
    space.slots.push_back({slot.param, cursor, cursor + numel, bucket, numel});
    cursor += numel;
  }
  // The original emits its last bucket only when it holds something, and then counts buckets.
  if (cursor > start) close();
  if (space.buckets.size() != buffer.buckets.size()) {
    throw Rejected(Reason::bucket_count, parameters[buffer.slots.back().param.value].name,
                   "the last bucket is empty in packed units, so the two index spaces differ in buckets");
  }
  return space;
}

}  // namespace shardcheck::layout
