#include "properties/layout_laws/bytes.h"

#include <algorithm>
#include <array>

#include "core/layout/mesh_cut.h"
#include "properties/layout_laws/image.h"

namespace shardcheck::laws {
namespace {

using layout::Buffer;
using layout::Cut;
using layout::Segment;
using layout::Slot;

constexpr std::uint32_t kCanaries[] = {0x7fd0dead, 0xa5a5a5a5};

/// What the consumers of sharded state see: exact, so that any difference is a byte that should not count.
struct Observed {
  std::uint64_t squares = 0;  ///< the norm, modulo 2^64
  std::uint32_t amax = 0;     ///< of magnitudes as integers
  std::int64_t count = 0;
  void add(std::uint32_t code) {
    squares += std::uint64_t{code} * code;
    amax = std::max(amax, code & 0x7fffffff);
    ++count;
  }
  bool operator==(const Observed&) const = default;
};

Observed observe(const Claim& claim, const Memory& memory) {
  Observed seen;
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      if (!is_first_replica(group.rule, Rank{static_cast<std::int32_t>(s / group.buckets())})) continue;
      if (claim.consumers_read_padding) {
        for (const std::uint32_t code : memory[g][s]) seen.add(code);
        continue;
      }
      for (const Segment& segment : group.shards[s].segs) {
        for (std::int64_t i = 0; i < segment.p_hi - segment.p_lo; ++i)
          seen.add(memory[g][s][segment.off + i]);
      }
    }
  }
  return seen;
}

/// A gather: the rank that the rule names gives each element. -1 in `at` past the end of a shard.
const std::uint32_t* gathered(const Facts& facts, const Memory& memory, const Slot& slot,
                              std::int64_t element) {
  const std::int32_t g = facts.group_of(slot.param);
  const GroupClaim& group = facts.claim.groups[g];
  const Buffer& rule = group.rule;
  std::int64_t rank = 0, off = 0;
  if (rule.cut == Cut::mesh) {
    const layout::MeshHolder holder = layout::mesh_holder(*rule.mesh, element, 0);
    rank = holder.rank.value;
    off = holder.off;
  } else {
    const layout::Bucket& bucket = rule.buckets[slot.bucket];
    const std::int64_t place = image_place(rule, slot, element);
    if (rule.cut == Cut::equal || rule.cut == Cut::per_parameter) {
      const std::int64_t shard = (bucket.hi - bucket.lo) / rule.world;
      rank = (place - bucket.lo) / shard;
      off = (place - bucket.lo) % shard;
    } else if (rule.cut == Cut::listed) {
      rank = std::ranges::upper_bound(rule.bounds, place) - rule.bounds.begin() - 1;
      off = place - rule.bounds[rank];
    } else {
      const std::int64_t shard = std::max<std::int64_t>((bucket.hi - bucket.lo) / rule.world, 1);
      // Virtual shards of floor(size / W) leave the last elements to nobody (B18); all hold all, so ask the
      // last.
      if (rule.cut == Cut::virtual_floor) rank = std::min<std::int64_t>(place / shard, rule.world - 1);
      off = place - bucket.lo;
    }
  }
  if (rank < 0 || rank >= rule.world) return nullptr;
  const auto& storage = memory[g][static_cast<std::size_t>(rank) * group.buckets() + slot.bucket];
  return off >= 0 && off < std::ssize(storage) ? &storage[off] : nullptr;
}

/// Gradient of rank `i`; any value modulo 2^64 does, because sums wrap exactly.
std::uint64_t gradient(std::int32_t rank, ParamId param, std::int64_t element) {
  return (static_cast<std::uint64_t>(element) * 64 + static_cast<std::uint64_t>(param.value)) *
             (0x9E3779B97F4A7C15ULL + 2 * static_cast<std::uint64_t>(rank)) +
         static_cast<std::uint64_t>(rank);
}

struct BlockShape {
  std::int64_t rows, columns;
};

/// Magnitude of an element for the amax: positive, and different nearly everywhere.
std::uint32_t magnitude(ParamId param, std::int64_t element) {
  return 1 + (code_of(param, element) & 0xffff);
}

void judge_blocks(const Facts& facts, ParamId param, BlockShape block, Findings& findings) {
  const Claim& claim = facts.claim;
  const layout::Parameter& parameter = claim.parameter(param);
  const std::int64_t columns = parameter.row();
  const std::int64_t across = div_ceil(columns, block.columns);
  const std::int64_t blocks = div_ceil(parameter.shape[0], block.rows) * across;
  const auto block_of = [&](std::int64_t e) {
    return e / columns / block.rows * across + e % columns / block.columns;
  };
  std::vector<std::uint32_t> expected(blocks, 0), reduced(blocks, 0);
  for (std::int64_t e = 0; e < parameter.numel(); ++e) {
    expected[block_of(e)] = std::max(expected[block_of(e)], magnitude(param, e));
  }
  // One zeroed slot a block of the whole tensor on every rank, then MAX over the ranks: the identity of an
  // empty shard is 0. The maximum of partial maxima is taken in one pass.
  for (const Piece& piece : facts.pieces_of(param)) {
    const auto& takes_part = claim.amax_ranks;
    if (!takes_part.empty() && std::ranges::find(takes_part, piece.rank.value) == takes_part.end()) continue;
    for (std::int64_t e = piece.segment.p_lo; e < piece.segment.p_hi; ++e) {
      reduced[block_of(e)] = std::max(reduced[block_of(e)], magnitude(param, e));
    }
  }
  const auto differs = std::ranges::mismatch(expected, reduced);
  if (differs.in1 == expected.end()) return;
  report(findings, claim,
         {.law = "L27",
          .sentence = "the amax of a block misses elements (element = block)",
          .element = differs.in1 - expected.begin(),
          .expected = *differs.in1,
          .actual = *differs.in2},
         param);
}

}  // namespace

void judge_padding(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  std::array<Observed, 2> seen;
  for (int run = 0; run < 2; ++run) seen[run] = observe(claim, filled(claim, kCanaries[run]));
  if (seen[0] != seen[1]) {
    report(findings, claim,
           {.law = "L4",
            .sentence = "the norm or amax changes with the bytes of padding",
            .expected = seen[0].amax,
            .actual = seen[1].amax});
  }
  Observed logical;
  for (std::size_t i = 0; i < facts.slots.size(); ++i) {
    if (facts.slots[i] == nullptr) continue;
    const ParamId param{static_cast<std::int32_t>(i)};
    for (std::int64_t e = 0; e < claim.parameter(param).numel(); ++e) logical.add(code_of(param, e));
  }
  const bool uncovered = std::ranges::any_of(claim.groups, [](const GroupClaim& group) {
    return group.rule.cut == Cut::virtual_floor &&
           group.rule.size % group.rule.world != 0;  // L1 says it (B18)
  });
  if (logical == seen[0] || uncovered) return;
  report(findings, claim,
         {.law = "L5",
          .sentence = "a norm over shards differs from that of the logical tensors",
          .expected = logical.count,
          .actual = seen[0].count});
}

void judge_round_trip(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  const Memory memory = filled(claim, kCanaries[0]);
  for (std::size_t i = 0; i < facts.slots.size(); ++i) {
    const Slot* slot = facts.slots[i];
    if (slot == nullptr || claim.groups[facts.groups[i]].rule.cut == Cut::virtual_floor) continue;
    const ParamId param{static_cast<std::int32_t>(i)};
    for (std::int64_t e = 0; e < std::min(slot->numel, claim.parameter(param).numel()); ++e) {
      const std::uint32_t* found = gathered(facts, memory, *slot, e);
      if (found != nullptr && *found == code_of(param, e)) continue;
      report(findings, claim,
             {.law = "L13",
              .sentence = "gathering does not give the tensor back",
              .element = e,
              .expected = code_of(param, e),
              .actual = found == nullptr ? -1 : std::int64_t{*found}},
             param);
      break;
    }
  }
}

void judge_linearity(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    const Buffer& rule = group.rule;
    if (rule.cut != Cut::equal && rule.cut != Cut::listed && rule.cut != Cut::per_parameter) continue;
    // The elementwise sum of one flat input a rank; each has its own garbage in the padding.
    std::vector<std::uint64_t> sum(static_cast<std::size_t>(rule.size), 0);
    for (std::int32_t rank = 0; rank < rule.world; ++rank) {
      for (const Slot& slot : rule.slots) {
        if (slot.lo < 0 || slot.lo == slot.hi || slot.numel > claim.parameter(slot.param).numel()) continue;
        for (std::int64_t e = 0; e < slot.numel; ++e) {
          const std::int64_t place = image_place(rule, slot, e);
          if (place < rule.size) sum[place] += gradient(rank, slot.param, e);
        }
      }
    }
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      const auto& shard = group.shards[s];
      for (const Segment& segment : shard.segs) {
        for (std::int64_t e = segment.p_lo; e < segment.p_hi; ++e) {
          std::uint64_t expected = 0;
          for (std::int32_t rank = 0; rank < rule.world; ++rank) expected += gradient(rank, segment.param, e);
          const std::int64_t place = shard.buf_lo + segment.off + e - segment.p_lo;
          if (place >= 0 && place < rule.size && sum[place] == expected) continue;
          report(findings, claim,
                 {.law = "L15",
                  .sentence = "the reduce-scattered element is not the sum over the ranks",
                  .rank = static_cast<std::int32_t>(s / group.buckets()),
                  .element = e},
                 segment.param);
          return;
        }
      }
    }
  }
}

void judge_scales(const Facts& facts, Findings& findings) {
  for (std::size_t i = 0; i < facts.slots.size(); ++i) {
    const ParamId param{static_cast<std::int32_t>(i)};
    const layout::Parameter& parameter = facts.claim.parameter(param);
    if (facts.slots[i] == nullptr || parameter.shape.size() != 2 || parameter.numel() == 0) continue;
    if (facts.claim.groups[facts.groups[i]].rule.cut == Cut::virtual_floor) continue;
    for (const BlockShape block : {BlockShape{1, 2}, BlockShape{2, 1}, BlockShape{3, 2}}) {
      judge_blocks(facts, param, block, findings);
    }
  }
}

}  // namespace shardcheck::laws
