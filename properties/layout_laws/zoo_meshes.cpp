#include "properties/layout_laws/zoo_meshes.h"

#include <algorithm>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

using layout::AxisUse;
using layout::Placement;
using layout::RankLayout;
using layout::Segment;
using enum layout::Placement::Kind;

constexpr std::int32_t kHuge = 2'000'000'000;

/// An MXFP8 matrix on two ranks, so that its scale planes are part of the claim.
Asked mxfp8() {
  return ask("mfsdp-v2-block-atomic", {{128, 64}}, 2);
}

Asked hfsdp() {
  Asked asked = ask("mfsdp-v2-flat", {{6, 4}}, 1);
  asked.mesh = {{{"outer", 2, AxisUse::shard}, {"inner", 3, AxisUse::shard}}};
  return asked;
}

Asked tied() {
  Asked asked = ask("fsdp2-per-param", {{5}, {5}}, 3);
  asked.parameters[1].tied_to = ParamId{0};
  return asked;
}

Asked shared_embedding() {
  Asked asked = ask("megatron-ddp", {{40, 4}, {40, 2}, {30}}, 2);
  asked.parameters[1].shared_embedding = true;
  return asked;
}

constexpr LayoutFault kFaults[] = {
    {"B19", "item-relative and shard-relative coordinates are mixed in a moment", "L14",
     [] {
       return ask("zero12-flat", {{10}, {6}}, 2);
     },
     [](Claim& c) {
       Plane& moment = c.groups[0].planes.emplace_back(Plane{"moment", 1, c.groups[0].shards});
       for (Segment& s : moment.shards[1].segs) s = {s.param, s.off, s.off + s.p_hi - s.p_lo, s.off};
     }},
    {"B20", "a local buffer is viewed with the global trailing shape", "L20",
     [] {
       return ask_dtensor({4, 6}, {1, 2}, {{shard, 0}, {shard, 1}});
     },
     [](Claim& c) {
       hold_instead(c, ask_dtensor({4, 6}, {1, 2}, {{shard, 0}, {shard, 0}}));
     }},
    // A fused gate|up weight is cut component by component: a strided shard of two pieces.
    {"B21", "a fused gate|up weight is cut as one tensor", "L20",
     [] {
       return ask_dtensor({8, 2}, {1, 2}, {{shard, 0}, {strided_shard, 0, 2}});
     },
     [](Claim& c) {
       hold_instead(c, ask_dtensor({8, 2}, {1, 2}, {{shard, 0}, {shard, 0}}));
     }},
    {"B22", "the stride of an uneven shard is copied from the full chunk", "L10",
     [] {
       return ask_dtensor({3, 9}, {2, 1}, {{shard, 1}, {replicate}});
     },
     [](Claim& c) {
       for (std::int64_t row = 0; row < 3; ++row) c.groups[0].shard(1, 0).segs[row].off = 5 * row;
     }},
    {"B23", "FSDP over tensor parallelism is gathered as if cut left to right", "L20",
     [] {
       return ask_dtensor({8}, {2, 2}, {{shard, 0}, {shard, 0}});
     },
     [](Claim& c) {
       c.groups[0].rule.mesh->options.order = {0, 1};
     }},
    {"B25", "a mesh of two shard axes is read as (replicate, shard)", "L19", hfsdp,
     [](Claim& c) {
       for (std::int32_t rank = 0; rank < 6; ++rank) c.shard_of[rank] = Rank{rank % 3};
     }},
    {"B26", "the HFSDP shard index is o * I + i", "L19", hfsdp,
     [](Claim& c) {
       for (std::int32_t rank = 0; rank < 6; ++rank) c.shard_of[rank] = Rank{rank};
     }},
    {"B33", "a shared embedding lies at other positions on the two stages", "L21", shared_embedding,
     [](Claim& c) {
       Asked plain = c.asked;
       plain.parameters[1].shared_embedding = false;
       answer_instead(c, plain);
     }},
    {"B34", "the last rank's rows of a tied tensor are never updated", "L21", tied,
     [](Claim& c) { c.groups[0].shard(2, 0).segs.clear(); }},
    {"B35", "a tied pair has storage in two places", "L21", tied,
     [](Claim& c) {
       Asked apart = c.asked;
       apart.parameters[1].tied_to.reset();
       answer_instead(c, apart);
     }},
    {"B36", "a block of rows is cut by a shard", "L8",
     [] {
       return ask("mfsdp-v2-block-atomic", {{6, 1}}, 2, {.block_rows = 2});
     },
     [](Claim& c) {
       answer_instead(c, ask("mfsdp-v2-flat", {{6, 1}}, 2));
     }},
    {"B37", "a columnwise plane is cut along the wrong dimension", "L14", mxfp8,
     [](Claim& c) { std::ranges::reverse(c.groups[0].planes[1].shards); }},
    {"B38", "the master is planned with block 1, the quantised buffer with block 2", "L14",
     [] {
       return ask("mfsdp-v2-block-atomic", {{6, 1}}, 2, {.block_rows = 2});
     },
     [](Claim& c) {
       const Claim master = claim_of(ask("mfsdp-v2-flat", {{6, 1}}, 2));
       c.groups[0].planes.push_back({"master", 1, master.groups[0].shards});
     }},
    {"B39", "the helper buffer of the transposed plane is missing on a rank", "L14", mxfp8,
     [](Claim& c) { c.groups[0].planes[1].shards.pop_back(); }},
    {"B40", "the amax is reduced over the wrong group", "L27",
     [] {
       return ask("fsdp2-per-param", {{4, 4}}, 2);
     },
     [](Claim& c) { c.amax_ranks = {0}; }},
    {"B41", "sizes are 32-bit", "L26",
     [] {
       return ask("zero12-flat", {{kHuge}, {476250368}}, 2);
     },
     [](Claim& c) {
       for (layout::Slot& slot : c.groups[0].rule.slots) slot.hi = static_cast<std::int32_t>(slot.hi);
     }},
    {"B43", "the extent of an uneven tensor is inferred from one shard", "L14",
     [] {
       return ask_dtensor({5}, {1, 2}, {{replicate}, {shard, 0}});
     },
     [](Claim& c) { c.groups[0].rule.slots[0].numel = 2 * 3; }},
    {"B45", "planner and runtime use different bucket sizes", "L11",
     [] {
       return ask("megatron-ddp", {{100}, {100}}, 2, {.bucket_size = 50});
     },
     [](Claim& c) { c.runtime = layout::Configuration{}; }},
};

/// Two ranks of three hold P0; the last is empty.
Asked even() {
  return ask("fsdp1-flat", {{4}, {4}}, 2, {.fsdp1_mode = layout::Fsdp1Mode::plain});
}

Asked replicated() {
  return ask("megatron-ddp-nopad", {{3}, {2}}, 2);
}

constexpr LayoutFault kOwn[] = {
    {"M1", "two tensors overlap by one element", "L2", even,
     [](Claim& c) { c.groups[0].rule.slots[1].lo -= 1; }},
    {"M2", "a tensor starts 16 elements into an alignment unit", "L6",
     [] {
       return ask("megatron-ddp", {{10}, {10}}, 2);
     },
     [](Claim& c) { c.groups[0].rule.slots[1].lo += 16; }},
    {"M3", "a tensor-atomic layout cuts a matrix", "L9",
     [] {
       return ask("mfsdp-v2-tensor-atomic", {{4, 4}}, 2);
     },
     [](Claim& c) {
       hold_instead(c, ask("fsdp2-per-param", {{4, 4}}, 2));
     }},
    {"M4", "two ranks exchange their shards", "L13", even,
     [](Claim& c) { std::swap(c.groups[0].shard(0, 0).segs, c.groups[0].shard(1, 0).segs); }},
    {"M5", "a reduce-scatter hands out shards in reverse", "L15", even,
     [](Claim& c) { std::swap(c.groups[0].shard(0, 0).segs, c.groups[0].shard(1, 0).segs); }},
    {"M6", "a frozen tensor lies in a gradient buffer", "L22",
     [] {
       return ask("zero12-flat", {{4}, {4}}, 2);
     },
     [](Claim& c) { c.asked.parameters[1].requires_grad = false; }},
    {"M7", "a replica holds another tensor", "L23", replicated,
     [](Claim& c) { c.groups[0].shard(1, 0).segs.pop_back(); }},
    {"M8", "whole chunks on every rank are padded", "L24",
     [] {
       return ask("mfsdp-v2-flat", {{4, 2}}, 2);
     },
     [](Claim& c) { c.groups[0].rule.size += 4; }},
    {"M9", "one rank holds everything", "L29", even,
     [](Claim& c) {
       auto& from = c.groups[0].shard(1, 0).segs;
       auto& to = c.groups[0].shard(0, 0).segs;
       to.insert(to.end(), from.begin(), from.end());
       from.clear();
     }},
};

}  // namespace

std::span<const LayoutFault> mesh_and_plane_faults() {
  return kFaults;
}

std::span<const LayoutFault> own_faults() {
  return kOwn;
}

}  // namespace shardcheck::laws
