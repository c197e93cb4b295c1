#include "properties/layout_laws/quirks.h"

#include <algorithm>

namespace shardcheck::laws {
namespace {

using layout::AxisUse;
using layout::Placement;

std::vector<layout::Parameter> shapes(std::vector<std::vector<std::int64_t>> list) {
  std::vector<layout::Parameter> parameters;
  for (auto& shape : list) {
    parameters.push_back({.name = "P" + std::to_string(parameters.size()), .shape = std::move(shape)});
  }
  return parameters;
}

const layout::Parameter& named(const Claim& claim, const LawFinding& finding) {
  return *std::ranges::find(claim.asked.parameters, finding.parameter, &layout::Parameter::name);
}

/// v1 puts a tensor smaller than C anywhere, and C may ignore its rows.
bool is_v1_fragment(const Claim& claim, const LawFinding& finding) {
  const layout::Parameter& parameter = named(claim, finding);
  for (const GroupClaim& group : claim.groups) {
    for (const layout::Slot& slot : group.rule.slots) {
      if (&claim.parameter(slot.param) == &parameter) return slot.numel < group.rule.chunk;
    }
  }
  return false;
}

bool is_lost_by_floor(const Claim& claim, const LawFinding& finding) {
  for (const GroupClaim& group : claim.groups) {
    const layout::Buffer& rule = group.rule;
    if (rule.cut != layout::Cut::virtual_floor || rule.size % rule.world == 0) continue;
    const std::int64_t covered = rule.size / rule.world * rule.world;
    for (const layout::Slot& slot : rule.slots) {
      if (claim.parameter(slot.param).name == finding.parameter && slot.hi > covered) return true;
    }
  }
  return false;
}

/// no_shard does not round to W * C, so a virtual boundary may fall anywhere.
bool is_unpadded(const Claim& claim, const LawFinding&) {
  return claim.asked.configuration.strategy == layout::FsdpStrategy::no_shard;
}

bool has_empty_tensor(const Claim& claim, const LawFinding& finding) {
  return finding.parameter.empty() &&  // a true overlap names its tensor
         std::ranges::any_of(claim.asked.parameters, [](const auto& p) { return p.numel() == 0; });
}

bool pads_before_the_last_rank(const Claim& claim, const LawFinding& finding) {
  const std::int64_t world = finding.rank + 1;
  const std::int64_t numel = named(claim, finding).numel();
  return (numel + world - 1) / world * (world - 1) >
         numel;  // rank W - 2 is already short, or the last is empty
}

bool is_strided(const Claim& claim, const LawFinding&) {
  return std::ranges::any_of(claim.asked.configuration.placements,
                             [](const Placement& p) { return p.kind == Placement::Kind::strided_shard; });
}

bool is_split_group(const Claim&, const LawFinding& finding) {
  return finding.sentence.starts_with("(e)");
}
bool is_label(const Claim&, const LawFinding& finding) {
  return finding.sentence.find("label") != std::string::npos;
}

layout::Mesh dp_tp(std::int32_t dp, std::int32_t tp) {
  return {{{"dp", dp, AxisUse::shard}, {"tp", tp, AxisUse::tensor}}};
}

Asked strided(std::int64_t extent, std::int32_t dp, std::int32_t tp, Placement second) {
  return {"dtensor-nd",
          shapes({{extent}}),
          dp_tp(dp, tp),
          {.placements = {{Placement::Kind::strided_shard, 0, tp}, second}, .order = {0, 1}}};
}

constexpr Quirk kQuirks[] = {
    {"megatron-fsdp-v1", "L7", "B15", "a tensor smaller than C starts anywhere, so a shard may cut its rows",
     is_v1_fragment,
     [] {
       return Asked{"megatron-fsdp-v1", shapes({{1, 3}, {2, 2}}), layout::mesh_of(2), {}};
     }},
    {"megatron-fsdp-v1", "L7", "B18", "no_shard is not rounded to W * C, so its virtual shards cut rows",
     is_unpadded,
     [] {
       return Asked{"megatron-fsdp-v1",
                    shapes({{1, 2}}),
                    layout::mesh_of(2),
                    {.strategy = layout::FsdpStrategy::no_shard}};
     }},
    {"megatron-fsdp-v1", "L1", "B18",
     "no_shard does not pad, and floor(size / W) leaves the last elements out", is_lost_by_floor,
     [] {
       return Asked{"megatron-fsdp-v1",
                    shapes({{7}}),
                    layout::mesh_of(2),
                    {.strategy = layout::FsdpStrategy::no_shard}};
     }},
    {"megatron-fsdp-v1", "L12", "B18", "a scalar at the end of an unpadded buffer is in no virtual shard",
     is_lost_by_floor,
     [] {
       return Asked{"megatron-fsdp-v1",
                    shapes({{}}),
                    layout::mesh_of(2),
                    {.strategy = layout::FsdpStrategy::no_shard}};
     }},
    {"megatron-fsdp-v1", "L24", "2.5", "C depends on the order of its tests and is not monotone",
     is_split_group,
     [] {
       return Asked{"megatron-fsdp-v1", shapes({{2, 5}, {2, 3}, {3, 6}, {3, 8}}), layout::mesh_of(2), {}};
     }},
    {"mfsdp-v2-flat", "L2", "B17", "the original's check sorts by start alone and trips over an empty tensor",
     has_empty_tensor,
     [] {
       return Asked{"mfsdp-v2-flat", shapes({{3, 1}, {1, 2}, {0, 2}}), layout::mesh_of(1), {}};
     }},
    {"mfsdp-v2-block-atomic", "L2", "B17", "as mfsdp-v2-flat", has_empty_tensor,
     [] {
       return Asked{
           "mfsdp-v2-block-atomic", shapes({{3, 1}, {1, 2}, {0, 2}}), layout::mesh_of(1), {.block_rows = 1}};
     }},
    {"fsdp2-per-param", "L16", "B42",
     "resharding to w ranks cuts the padded tensor, the label cuts the real one", is_label,
     [] {
       return Asked{"fsdp2-per-param", shapes({{2, 1}}), layout::mesh_of(4), {}};
     }},
    {"dtensor-nd", "L13", "B24", "a strided gather truncates instead of unpadding each rank", is_strided,
     [] { return strided(7, 3, 3, {}); }},
    {"dtensor-nd", "L20", "2.11", "a strided pair is TP-first only while the parts re-chunk to themselves",
     is_strided,
     [] {
       return strided(7, 3, 2, {Placement::Kind::shard, 0});
     }},
    {"zero3-flat", "L3", "B5", "all padding of a tensor is booked on the last rank",
     pads_before_the_last_rank,
     [] {
       return Asked{"zero3-flat", shapes({{5}}), layout::mesh_of(4), {}};
     }},
};

}  // namespace

std::span<const Quirk> quirks() {
  return kQuirks;
}

void mark_quirks(const Claim& claim, Findings& findings) {
  for (LawFinding& finding : findings) {
    for (const Quirk& quirk : kQuirks) {
      if (quirk.layout == claim.asked.layout && quirk.law == finding.law && quirk.explains(claim, finding)) {
        finding.quirk = quirk.reference;
      }
    }
  }
}

}  // namespace shardcheck::laws
