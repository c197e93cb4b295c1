#include "properties/layout_laws/cuts.h"

#include <algorithm>
#include <cstdlib>

#include "core/layout/megatron_ddp_groups.h"
#include "core/layout/zero3_flat.h"
#include "properties/layout_laws/image.h"

namespace shardcheck::laws {
namespace {

using layout::Bucket;
using layout::Buffer;
using layout::Cut;
using layout::RankLayout;
using layout::Segment;
using layout::Slot;

void judge_shards_of(const GroupClaim& group, std::size_t b, const Claim& claim, Findings& findings) {
  const Buffer& rule = group.rule;
  const Bucket& bucket = rule.buckets[b];
  std::int64_t next = bucket.lo;
  for (std::int32_t rank = 0; rank < rule.world; ++rank) {
    const RankLayout& shard = group.shard(rank, b);
    if (rule.cut != Cut::replicated) {
      if (shard.buf_lo != next) {
        report(findings, claim,
               {.law = "L3",
                .sentence = "its shard does not begin where the last one ends",
                .rank = rank,
                .expected = next,
                .actual = shard.buf_lo});
      }
      next = shard.buf_lo + shard.buf_numel;
    }
    std::int64_t padding = shard.buf_numel;
    for (const Segment& s : shard.segs) {
      padding -= s.p_hi - s.p_lo;
      const std::int64_t origin = rule.cut == Cut::virtual_floor ? shard.buf_lo : 0;
      if (s.off >= origin && s.off + s.p_hi - s.p_lo <= origin + shard.buf_numel) continue;
      report(findings, claim,
             {.law = "L3",
              .sentence = "a segment leaves its shard",
              .rank = rank,
              .element = s.p_lo,
              .expected = shard.buf_numel,
              .actual = s.off + s.p_hi - s.p_lo},
             s.param);
    }
    if (padding == shard.pad_numel) continue;
    report(findings, claim,
           {.law = "L3",
            .sentence = "its padding is miscounted",
            .rank = rank,
            .expected = padding,
            .actual = shard.pad_numel});
  }
  const bool floor_loses = rule.cut == Cut::virtual_floor;  // L1 says it already (B18)
  if (rule.cut == Cut::replicated || floor_loses || next == bucket.hi) return;
  report(
      findings, claim,
      {.law = "L3", .sentence = "the shards do not tile the bucket", .expected = bucket.hi, .actual = next});
}

/// What the original books as padding of every parameter's last rank (B5).
void judge_zero3_books(const Facts& facts, const GroupClaim& group, Findings& findings) {
  const Claim& claim = facts.claim;
  const std::int32_t world = group.rule.world;
  for (const Slot& slot : group.rule.slots) {
    const std::int64_t part = slot.hi - slot.lo;
    const std::int64_t real = std::clamp<std::int64_t>(slot.numel - (world - 1) * part, 0, part);
    const auto books = layout::zero3_last_rank(claim.parameter(slot.param), world);
    if (books.recorded_padding == part - real) continue;
    report(findings, claim,
           {.law = "L3",
            .sentence = "the original books all padding on the last rank",
            .rank = world - 1,
            .expected = part - real,
            .actual = books.recorded_padding},
           slot.param);
  }
}

/// Elements that every start must be a multiple of; 1 when nothing is declared.
std::int64_t start_unit(const Claim& claim, const Buffer& buffer, const layout::Parameter& parameter) {
  const std::string& name = claim.asked.layout;
  const layout::Configuration& c = claim.asked.configuration;
  if (name == "megatron-ddp" || name == "megatron-layerwise") return 64;
  if (name == "mfsdp-v2-flat") return parameter.row();
  if (name == "mfsdp-v2-block-atomic") return c.block_rows * parameter.row();
  if (name == "fsdp1-flat" && c.fsdp1_mode == layout::Fsdp1Mode::aligned) {
    const layout::Parameter& first = claim.parameter(buffer.slots.front().param);
    return 16 / bytes_of(c.compute_dtype.value_or(first.dtype));
  }
  return 1;
}

void judge_ends(const Facts& facts, const Piece& piece, std::int64_t unit, const char* law,
                const char* sentence, Findings& findings) {
  if (unit <= 1) return;
  const std::int64_t numel = facts.claim.parameter(piece.segment.param).numel();
  for (const std::int64_t end : {piece.segment.p_lo, piece.segment.p_hi}) {
    if (end % unit == 0 || end == numel) continue;
    report(findings, facts.claim,
           {.law = law,
            .sentence = sentence,
            .rank = piece.rank.value,
            .element = end,
            .expected = 0,
            .actual = end % unit},
           piece.segment.param);
    return;
  }
}

}  // namespace

void judge_tiling(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    const Buffer& rule = group.rule;
    std::int64_t next = 0;
    for (std::size_t b = 0; b < rule.buckets.size(); ++b) {
      const Bucket& bucket = rule.buckets[b];
      if (bucket.lo != next || bucket.hi < bucket.lo) {
        report(findings, claim,
               {.law = "L3",
                .sentence = "the buckets do not tile the buffer",
                .expected = next,
                .actual = bucket.lo});
      }
      next = bucket.hi;
      if (rule.cut == Cut::equal && (bucket.hi - bucket.lo) % rule.world != 0) {
        report(findings, claim,
               {.law = "L3",
                .sentence = "the ranks do not divide a bucket",
                .expected = 0,
                .actual = (bucket.hi - bucket.lo) % rule.world});
      }
      judge_shards_of(group, b, claim, findings);
    }
    if (next != rule.size) {
      report(findings, claim,
             {.law = "L3",
              .sentence = "the buckets do not end where the buffer ends",
              .expected = rule.size,
              .actual = next});
    }
    for (const Slot& slot : rule.slots) {
      const Bucket& bucket = rule.buckets[slot.bucket];
      if (slot.lo >= bucket.lo && slot.hi <= bucket.hi) continue;
      report(findings, claim, {.law = "L3", .sentence = "it leaves its bucket"}, slot.param);
    }
    if (claim.asked.layout == "zero3-flat") judge_zero3_books(facts, group, findings);
  }
}

void judge_alignment(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    for (const Slot& slot : group.rule.slots) {
      const std::int64_t unit = start_unit(claim, group.rule, claim.parameter(slot.param));
      if (slot.lo % unit == 0) continue;
      report(findings, claim,
             {.law = "L6",
              .sentence = "it does not start at the declared alignment",
              .expected = 0,
              .actual = slot.lo % unit},
             slot.param);
    }
  }
}

void judge_rows_and_blocks(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  const layout::Promises& promises = claim.layout->promises;
  const bool ragged = claim.asked.layout == "vescale-ragged";
  if (!promises.rows_whole && !promises.blocks_whole) return;
  for (const Piece& piece : facts.pieces) {
    const layout::Parameter& parameter = claim.parameter(piece.segment.param);
    if (parameter.shard_dim > 0 && claim.asked.layout == "fsdp2-per-param") continue;  // cut inside rows
    const std::int64_t row = parameter.row();
    if (promises.rows_whole) judge_ends(facts, piece, row, "L7", "a row is cut", findings);
    if (!promises.blocks_whole) continue;
    const bool units_given = ragged && !claim.asked.configuration.units.empty();
    const std::int64_t rows = units_given ? 1
                              : ragged    ? parameter.block_rows
                                          : claim.asked.configuration.block_rows;
    judge_ends(facts, piece, rows * row, "L8", "a block of rows is cut", findings);
  }
}

void judge_contiguity(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const Piece& piece : facts.pieces) {
    const Segment& s = piece.segment;
    const Buffer& rule = claim.groups[piece.group].rule;
    if (rule.cut == Cut::mesh) continue;
    const Slot* slot = facts.slots[s.param.value];
    if (slot == nullptr || s.p_lo >= s.p_hi || s.p_lo < 0 || s.p_hi > slot->numel || slot->hi == slot->lo)
      continue;
    const RankLayout& shard = claim.groups[piece.group].shard(piece.rank.value, piece.bucket);
    const std::int64_t origin = rule.cut == Cut::virtual_floor || rule.cut == Cut::replicated
                                    ? rule.buckets[piece.bucket].lo
                                    : shard.buf_lo;
    const std::int64_t first = image_place(rule, *slot, s.p_lo);
    const std::int64_t end = image_place(rule, *slot, s.p_hi - 1);
    if (origin + s.off == first && origin + s.off + s.p_hi - 1 - s.p_lo == end) continue;
    report(findings, claim,
           {.law = "L10",
            .sentence = "after a gather it does not lie where the copy-out reads it",
            .rank = piece.rank.value,
            .element = s.p_lo,
            .expected = first,
            .actual = origin + s.off},
           s.param);
  }
  for (const GroupClaim& group : claim.groups) {
    if (group.rule.cut != Cut::mesh) continue;
    for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
      std::int64_t next = 0;
      for (const Segment& s : group.shard(rank, 0).segs) {
        if (s.off != next) {
          report(findings, claim,
                 {.law = "L10",
                  .sentence = "its local storage has another stride than its local shape",
                  .rank = rank,
                  .element = s.p_lo,
                  .expected = next,
                  .actual = s.off},
                 s.param);
          break;
        }
        next += s.p_hi - s.p_lo;
      }
    }
  }
}

}  // namespace shardcheck::laws
