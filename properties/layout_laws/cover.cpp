#include "properties/layout_laws/cover.h"

#include <algorithm>
#include <vector>

#include "core/layout/mfsdp_v2_flat.h"

namespace shardcheck::laws {
namespace {

using layout::Segment;
using layout::Slot;

ParamId param_at(std::size_t i) {
  return ParamId{static_cast<std::int32_t>(i)};
}

/// Non-empty ranges, sorted, must not reach into each other.
struct Placed {
  std::int64_t lo = 0, hi = 0;
  ParamId param;
};

void expect_disjoint(std::vector<Placed>& placed, const Claim& claim, std::int32_t rank, Findings& findings) {
  std::erase_if(placed, [](const Placed& p) { return p.lo >= p.hi; });
  std::ranges::sort(placed, {}, &Placed::lo);
  for (std::size_t i = 1; i < placed.size(); ++i) {
    if (placed[i - 1].hi <= placed[i].lo) continue;
    report(findings, claim,
           {.law = "L2",
            .sentence = "it starts inside " + claim.parameter(placed[i - 1].param).name,
            .rank = rank,
            .expected = placed[i - 1].hi,
            .actual = placed[i].lo},
           placed[i].param);
  }
}

}  // namespace

void judge_cover(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (std::size_t i = 0; i < claim.asked.parameters.size(); ++i) {
    const ParamId param = param_at(i);
    if (!must_be_held(claim, param)) continue;
    const std::int64_t numel = claim.parameter(param).numel();
    std::int64_t next = 0;
    for (const Piece& piece : facts.pieces_of(param)) {
      const Segment& segment = piece.segment;
      if (segment.p_lo != next) {
        report(findings, claim,
               {.law = "L1",
                .sentence = segment.p_lo > next ? "nobody owns elements before this one"
                                                : "an element has two owners",
                .rank = piece.rank.value,
                .element = segment.p_lo,
                .expected = next,
                .actual = segment.p_lo},
               param);
      }
      next = std::max(next, segment.p_hi);
    }
    if (next == numel) continue;
    report(findings, claim,
           {.law = "L1",
            .sentence = next < numel ? "nobody owns its last elements" : "elements behind its end are owned",
            .element = std::min(next, numel),
            .expected = numel,
            .actual = next},
           param);
  }
}

void judge_overlap(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  std::vector<Placed> placed;
  for (const GroupClaim& group : claim.groups) {
    placed.clear();
    for (const Slot& slot : group.rule.slots) placed.push_back({slot.lo, slot.hi, slot.param});
    expect_disjoint(placed, claim, -1, findings);
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      placed.clear();
      for (const Segment& g : group.shards[s].segs) {
        placed.push_back({g.off, g.off + g.p_hi - g.p_lo, g.param});
      }
      expect_disjoint(placed, claim, static_cast<std::int32_t>(s / group.buckets()), findings);
    }
    if (claim.asked.layout == "mfsdp-v2-flat" || claim.asked.layout == "mfsdp-v2-block-atomic") {
      if (!layout::upstream_sees_false_overlap(group.rule)) continue;
      report(findings, claim,
             {.law = "L2", .sentence = "the original's own check takes an empty tensor for an overlap"});
    }
  }
}

void judge_whole_tensors(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  if (!claim.layout->promises.tensors_whole) return;
  for (std::size_t i = 0; i < claim.asked.parameters.size(); ++i) {
    const ParamId param = param_at(i);
    const std::int32_t group = facts.group_of(param);
    if (group < 0) continue;
    // Parameters of other optimizers lie in buffers of the cutting kind (shard-layouts 2.4).
    if (claim.asked.layout == "megatron-layerwise" && !claim.groups[group].rule.key.layerwise) continue;
    const auto pieces = facts.pieces_of(param);
    if (pieces.size() <= 1) continue;
    report(findings, claim,
           {.law = "L9",
            .sentence = "it is cut, and a matrix optimizer would see a fragment",
            .rank = pieces[1].rank.value,
            .element = pieces[1].segment.p_lo,
            .expected = 1,
            .actual = std::ssize(pieces)},
           param);
  }
}

void judge_degenerate(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const Piece& piece : facts.pieces) {
    const ParamId param = piece.segment.param;
    const bool empty = piece.segment.p_lo >= piece.segment.p_hi;
    if (!empty && claim.parameter(param).numel() > 0) continue;
    report(findings, claim,
           {.law = "L12",
            .sentence = empty ? "a segment holds nothing" : "a tensor without elements has an owner",
            .rank = piece.rank.value,
            .element = piece.segment.p_lo},
           param);
  }
  for (std::size_t i = 0; i < claim.asked.parameters.size(); ++i) {
    const ParamId param = param_at(i);
    if (!must_be_held(claim, param)) continue;
    const layout::Parameter& parameter = claim.parameter(param);
    const std::int32_t group = facts.group_of(param);
    const auto pieces = facts.pieces_of(param);
    if (group < 0) {
      report(findings, claim, {.law = "L12", .sentence = "the layout forgot it"}, param);
    } else if (parameter.shape.empty() && pieces.size() != 1) {
      report(findings, claim,
             {.law = "L12",
              .sentence = "a scalar is one element of one rank",
              .expected = 1,
              .actual = std::ssize(pieces)},
             param);
    } else if (claim.groups[group].rule.world == 1 && parameter.numel() > 0 &&
               (pieces.size() != 1 || pieces[0].segment.p_hi != parameter.numel())) {
      report(findings, claim, {.law = "L12", .sentence = "the only rank does not hold it whole"}, param);
    }
  }
}

void judge_frozen(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    for (const Slot& slot : group.rule.slots) {
      const bool frozen = !claim.parameter(slot.param).requires_grad;
      if (frozen && claim.layout->promises.trainable_only) {
        report(findings, claim, {.law = "L22", .sentence = "a frozen tensor lies in a gradient buffer"},
               slot.param);
      } else if (frozen && claim.asked.layout != "fsdp1-flat" && claim.asked.layout != "fsdp2-per-param" &&
                 claim.asked.layout != "vescale-ragged" && group.rule.key.requires_grad) {
        report(findings, claim, {.law = "L22", .sentence = "a frozen tensor shares a trainable group"},
               slot.param);
      }
    }
  }
}

void judge_replicas(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    if (group.rule.cut != layout::Cut::replicated && group.rule.cut != layout::Cut::mesh) continue;
    // The rank of the first replica that a rank copies: its coordinates with the replicating ones set to 0.
    for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
      std::int32_t original = 0;
      if (group.rule.cut == layout::Cut::mesh) {
        const auto& options = group.rule.mesh->options;
        std::int32_t rest = rank, stride = 1;
        for (std::size_t axis = options.mesh.size(); axis-- > 0;) {
          if (options.placements[axis].cuts()) original += rest % options.mesh[axis] * stride;
          rest /= options.mesh[axis];
          stride *= options.mesh[axis];
        }
      }
      for (std::size_t b = 0; b < group.buckets(); ++b) {
        if (group.shard(rank, b).segs == group.shard(original, b).segs) continue;
        report(findings, claim,
               {.law = "L23", .sentence = "it does not hold what its replica holds", .rank = rank});
      }
    }
  }
}

}  // namespace shardcheck::laws
