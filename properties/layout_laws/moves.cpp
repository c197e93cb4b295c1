#include "properties/layout_laws/moves.h"

#include <algorithm>

#include "core/integers.h"

namespace shardcheck::laws {
namespace {

using layout::Copy;
using layout::Ownership;
using layout::Spot;

constexpr std::uint32_t kFresh = 0x7fd0beef;  ///< storage that nobody has written

std::uint32_t* cell(const Claim& claim, Memory& memory, const Spot& spot, std::int64_t i) {
  auto& storage =
      memory[spot.buffer]
            [static_cast<std::size_t>(spot.rank.value) * claim.groups[spot.buffer].buckets() + spot.bucket];
  const std::int64_t at = spot.off + i;
  return at >= 0 && at < std::ssize(storage) ? &storage[at] : nullptr;
}

/// Executes a plan; false when a copy leaves its storage.
bool execute(const Claim& from, Memory& source, const Claim& to, Memory& target,
             const std::vector<Copy>& plan) {
  for (const Copy& copy : plan) {
    for (std::int64_t i = 0; i < copy.numel; ++i) {
      const std::uint32_t* read = cell(from, source, copy.from, i);
      std::uint32_t* write = cell(to, target, copy.to, i);
      if (read == nullptr || write == nullptr) return false;
      *write = *read;
    }
  }
  return true;
}

/// The first element that every holder of a claim should hold and one does not.
void compare(const Claim& claim, const Claim& other, Memory& memory, const char* law, const char* sentence,
             Findings& findings) {
  std::vector<bool> moved(claim.asked.parameters.size(), false);
  for (const GroupClaim& group : other.groups) {
    for (const layout::Slot& slot : group.rule.slots) moved[slot.param.value] = true;
  }
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      for (const layout::Segment& segment : group.shards[s].segs) {
        if (!moved[segment.param.value]) continue;
        for (std::int64_t e = segment.p_lo; e < segment.p_hi; ++e) {
          const std::uint32_t found = memory[g][s][segment.off + e - segment.p_lo];
          if (found == code_of(segment.param, e)) continue;
          report(findings, claim,
                 {.law = law,
                  .sentence = sentence,
                  .rank = static_cast<std::int32_t>(s / group.buckets()),
                  .element = e,
                  .expected = code_of(segment.param, e),
                  .actual = found},
                 segment.param);
          return;
        }
      }
    }
  }
}

std::int32_t world_of(const Claim& claim) {
  return claim.asked.mesh.ranks_along(layout::AxisUse::shard);
}

}  // namespace

Moves plan_moves(const Claim& from, const Claim& to) {
  const Ownership a = ownership_of(from), b = ownership_of(to);
  return {layout::reshard_plan(a, b, from.asked.parameters),
          layout::reshard_plan(b, a, from.asked.parameters)};
}

void judge_moves(const Claim& from, const Claim& to, const Moves& moves, Findings& findings) {
  const char* law = world_of(from) == world_of(to) ? "L16" : "L17";
  Memory source = filled(from, 0x7fd0dead);
  Memory target = blank(to, kFresh);
  Memory returned = blank(from, kFresh);
  if (!execute(from, source, to, target, moves.there) || !execute(to, target, from, returned, moves.back)) {
    report(findings, from, {.law = law, .sentence = "a copy reads or writes outside its storage"});
    return;
  }
  compare(to, from, target, law, "after resharding a rank holds another element", findings);
  compare(from, to, returned, law, "there and back is not the identity", findings);
}

void judge_fsdp2_labels(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  if (claim.asked.layout != "fsdp2-per-param") return;
  const std::int64_t world = world_of(claim);
  for (const GroupClaim& group : claim.groups) {
    for (const layout::Slot& slot : group.rule.slots) {
      const layout::Parameter& p = claim.parameter(slot.param);
      if (p.shard_dim != 0 || p.shape.empty() || p.numel() == 0) continue;
      const std::int64_t rows = p.shape[0];
      for (std::int64_t small = 2; small < world; ++small) {
        // The data is the j-th part of the padded tensor; the label is the ceil-chunk of the real one.
        const std::int64_t part = div_ceil(rows, world) * world / small;
        if (world % small != 0 || part == div_ceil(rows, small)) continue;
        report(findings, claim,
               {.law = "L16",
                .sentence = "after resharding to a smaller mesh the label names other rows (rank 1)",
                .rank = 1,
                .expected = part,
                .actual = div_ceil(rows, small)},
               slot.param);
        return;
      }
    }
  }
}

}  // namespace shardcheck::laws
