#include "properties/layout_laws/bounds.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/layout/megatron_ddp_groups.h"

namespace shardcheck::laws {
namespace {

using layout::Buffer;
using layout::Cut;
using layout::Slot;

std::int64_t payload_of(const Buffer& buffer) {
  std::int64_t payload = 0;
  for (const Slot& slot : buffer.slots) payload += slot.numel;
  return payload;
}

bool is_layerwise(const Claim& claim, const GroupClaim& group) {
  return claim.asked.layout == "megatron-layerwise" && group.rule.key.layerwise;
}

std::int64_t ddp_granularity(const Claim& claim, const Buffer& buffer) {
  return layout::ddp_bucket_granularity(
      buffer.world, {.pad_for_high_bus_bandwidth = claim.asked.configuration.pad_for_high_bus_bandwidth});
}

/// lcm of b * row over the tensors of a buffer: C as the specification defines it, not as the claim says.
std::int64_t chunk_of(const Claim& claim, const Buffer& buffer, std::int64_t block_rows) {
  std::int64_t chunk = 1;
  for (const Slot& slot : buffer.slots)
    chunk = std::lcm(chunk, block_rows * claim.parameter(slot.param).row());
  return chunk;
}

/// W * C - 1 + C * (tensors with N % C != 0 and N >= C) + sum over fragments of (unit - 1).
std::int64_t gap_packing_bound(const Claim& claim, const Buffer& buffer, std::int64_t chunk,
                               std::int64_t block_rows) {
  std::int64_t bound = buffer.world * chunk - 1;
  for (const Slot& slot : buffer.slots) {
    if (slot.numel < chunk) {
      bound += block_rows == 0 ? 0 : block_rows * claim.parameter(slot.param).row() - 1;
    } else if (slot.numel % chunk != 0) {
      bound += chunk;
    }
  }
  return bound;
}

std::int64_t fsdp2_bound(const Claim& claim, const Buffer& buffer) {
  std::int64_t bound = 0;
  for (const Slot& slot : buffer.slots) {
    const layout::Parameter& p = claim.parameter(slot.param);
    const std::int64_t rows = p.shape.empty() ? 1 : p.shape[0];
    if (p.shard_dim > 0 || rows == 0) continue;
    bound += (rows < buffer.world ? buffer.world - rows : buffer.world - 1) * p.row();
  }
  return bound;
}

/// The bound of a whole buffer's padding, or nothing where the specification states none.
std::optional<std::int64_t> waste_bound(const Claim& claim, const Buffer& buffer) {
  const std::string& name = claim.asked.layout;
  const layout::Configuration& c = claim.asked.configuration;
  const std::int64_t world = buffer.world;
  const std::int64_t tensors = std::ssize(buffer.slots);
  if (name == "megatron-ddp-nopad" || name == "mfsdp-v2-tensor-atomic") return 0;
  if (name == "megatron-ddp" || name == "megatron-layerwise") {
    return 63 * tensors + std::ssize(buffer.buckets) * (ddp_granularity(claim, buffer) - 1);
  }
  // v1's C divides the lcm of all rows, and its fragments are not aligned, which block_rows 0 stands for.
  if (name == "megatron-fsdp-v1") return gap_packing_bound(claim, buffer, buffer.chunk, 0);
  if (name == "mfsdp-v2-flat") return gap_packing_bound(claim, buffer, chunk_of(claim, buffer, 1), 1);
  if (name == "mfsdp-v2-block-atomic") {
    return gap_packing_bound(claim, buffer, chunk_of(claim, buffer, c.block_rows), c.block_rows);
  }
  if (name == "fsdp1-flat") {
    const DType dtype = c.compute_dtype.value_or(claim.parameter(buffer.slots.front().param).dtype);
    const std::int64_t alignment = c.fsdp1_mode == layout::Fsdp1Mode::aligned ? 16 / bytes_of(dtype) : 1;
    return tensors * (alignment - 1) + world - 1;
  }
  if (name == "fsdp2-per-param") return fsdp2_bound(claim, buffer);
  if (name == "zero12-flat") return 2 * world - 1;
  if (name == "zero3-flat") return tensors * (world - 1);
  if (name == "vescale-ragged" && !c.units.empty()) return 0;
  return std::nullopt;
}

/// Storage of a bucket of layerwise: W * max shard, and W * (q - 1) of rounding.
std::int64_t layerwise_bound(const Claim& claim, const GroupClaim& group) {
  const std::int64_t world = group.rule.world;
  const std::int64_t q = std::lcm<std::int64_t>(64, ddp_granularity(claim, group.rule) / world);
  std::int64_t bound = 0;
  for (std::size_t b = 0; b < group.buckets(); ++b) {
    std::int64_t longest = 0;
    for (std::int32_t rank = 0; rank < world; ++rank) {
      for (const layout::Segment& s : group.shard(rank, b).segs) {
        longest = std::max(longest, s.off + s.p_hi - s.p_lo);
      }
    }
    bound += world * (longest + q - 1);
  }
  return bound - payload_of(group.rule);
}

}  // namespace

void judge_counts(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    // Counts of unequal shards are known to all because the boundaries are part of the layout.
    if (group.rule.cut == Cut::listed) continue;
    for (std::size_t b = 0; b < group.buckets(); ++b) {
      for (std::int32_t rank = 1; rank < group.rule.world; ++rank) {
        if (group.shard(rank, b).buf_numel == group.shard(0, b).buf_numel) continue;
        report(findings, claim,
               {.law = "L25",
                .sentence = "it passes another count than rank 0",
                .rank = rank,
                .expected = group.shard(0, b).buf_numel,
                .actual = group.shard(rank, b).buf_numel});
      }
    }
  }
}

void judge_balance(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    if (group.rule.cut == Cut::listed || group.rule.cut == Cut::mesh)
      continue;  // whoever chose, chose the balance
    for (std::size_t b = 0; b < group.buckets(); ++b) {
      std::int64_t most = 0, least = INT64_MAX, largest = 0, payload = 0;
      for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
        std::int64_t real = 0;
        for (const layout::Segment& s : group.shard(rank, b).segs) {
          real += s.p_hi - s.p_lo;
          largest = std::max(largest, s.p_hi - s.p_lo);
        }
        payload += real;
        most = std::max(most, real);
        least = std::min(least, real);
      }
      const layout::Bucket& bucket = group.rule.buckets[b];
      // layerwise: 1.3 times the mean and the largest tensor; the starts of tensors are rounded to 64
      // besides.
      const std::int64_t bound =
          is_layerwise(claim, group)
              ? payload * 13 / (10 * group.rule.world) + largest + 63 * std::ssize(group.rule.slots)
          : group.rule.cut == Cut::replicated ? 0
                                              : (bucket.hi - bucket.lo) / group.rule.world;
      if (most - least <= bound) continue;
      report(findings, claim,
             {.law = "L29",
              .sentence = "its ranks are less balanced than declared",
              .expected = bound,
              .actual = most - least});
    }
  }
}

void judge_waste(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    const std::int64_t waste = group.rule.size - payload_of(group.rule);
    const auto bound = is_layerwise(claim, group) ? std::optional(layerwise_bound(claim, group))
                                                  : waste_bound(claim, group.rule);
    if (!bound || waste <= *bound) continue;
    report(findings, claim,
           {.law = "L30", .sentence = "it wastes more than declared", .expected = *bound, .actual = waste});
  }
}

}  // namespace shardcheck::laws
