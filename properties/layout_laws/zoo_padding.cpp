#include "properties/layout_laws/zoo_padding.h"

#include <algorithm>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

using layout::RankLayout;

constexpr LayoutFault kFaults[] = {
    {"B1", "padding is assumed on the last rank only", "L3",
     [] { return ask("zero12-flat", {{266240}}, 768); },
     [](Claim& c) {
       std::int64_t padding = 0;
       for (RankLayout& shard : c.groups[0].shards) padding += std::exchange(shard.pad_numel, 0);
       c.groups[0].shards.back().pad_numel = padding;
     }},
    {"B2", "real elements are recorded in place of padding", "L3",
     [] { return ask("zero12-flat", {{57}}, 2); },
     [](Claim& c) { c.groups[0].shard(1, 0).pad_numel = 57 - 30; }},
    {"B5", "the padding of a parameter is booked on the last rank", "L3",
     [] { return ask("zero3-flat", {{5}}, 4); },
     [](Claim& c) {
       c.groups[0].shard(2, 0).pad_numel = 0;
       c.groups[0].shard(3, 0).pad_numel = 3;
     }},
    {"B8", "the bucket before a shared embedding is not rounded to the world", "L3",
     [] {
       Asked asked = ask("megatron-ddp", {{100}, {71}}, 2);
       asked.parameters[0].shared_embedding = true;
       return asked;
     },
     [](Claim& c) { c.groups[0].rule.buckets[0].hi = 71; }},
    {"B9", "planned for W ranks, reduced over half of them", "L1",
     [] { return ask("zero12-flat", {{16}}, 4); },
     [](Claim& c) {
       for (std::int32_t rank = 2; rank < 4; ++rank) c.groups[0].shard(rank, 0).segs.clear();
     }},
    {"B10", "a norm runs over the padding of shards", "L5",
     [] { return ask("fsdp1-flat", {{5}}, 4, {.fsdp1_mode = layout::Fsdp1Mode::plain}); },
     [](Claim& c) { c.consumers_read_padding = true; }},
    {"B11", "a quantiser reads uninitialised padding", "L4", [] { return ask("zero3-flat", {{5}}, 4); },
     [](Claim& c) { c.consumers_read_padding = true; }},
    {"B12", "a tensor-atomic buffer pads an embedding once a rank", "L30",
     [] {
       return ask("mfsdp-v2-tensor-atomic", {{8, 4}, {2, 2}}, 2);
     },
     [](Claim& c) { c.groups[0].rule.size = 2 * 32; }},
    {"B13", "cutting a bucket mid-row manufactures padding", "L30",
     [] {
       return ask("mfsdp-v2-flat", {{4, 4}, {4, 4}, {4, 4}, {4, 4}}, 2);
     },
     [](Claim& c) { c.groups[0].rule.size = 64 + 16; }},
    {"B14", "the chunk is a product of rows where their lcm suffices", "L30",
     [] {
       return ask("mfsdp-v2-flat", {{3, 4}, {3, 6}}, 2);
     },
     [](Claim& c) { c.groups[0].rule.size = 2 * 2 * 4 * 6; }},
    {"B15", "tail fragments are not aligned to their rows", "L7",
     [] {
       return ask("mfsdp-v2-flat", {{1, 3}, {2, 2}}, 2);
     },
     [](Claim& c) {
       answer_instead(c, ask("megatron-fsdp-v1", {{1, 3}, {2, 2}}, 2));
     }},
    // Rows descending, as v1 lists them, is not elements descending; all other numbers of the two are equal.
    {"B16", "the result of sorting fragments is discarded on one side", "L11",
     [] {
       return ask("mfsdp-v2-flat", {{2, 6}, {1, 3}, {5, 1}}, 1);
     },
     [](Claim& c) {
       answer_instead(c, ask("megatron-fsdp-v1", {{2, 6}, {1, 3}, {5, 1}}, 1));
     }},
    {"B17", "an empty tensor is taken for an overlap", "L2",
     [] {
       return ask("mfsdp-v2-flat", {{3, 1}, {1, 2}}, 1);
     },
     [](Claim& c) {
       answer_instead(c, ask("mfsdp-v2-flat", {{3, 1}, {1, 2}, {0, 2}}, 1));
       c.asked.parameters.push_back({.name = "P2", .shape = {0, 2}});
     }},
    {"B18", "virtual shards of an unpadded buffer use floor", "L1",
     [] { return ask("fsdp1-flat", {{7}}, 2, {.fsdp1_mode = layout::Fsdp1Mode::plain}); },
     [](Claim& c) {
       answer_instead(c, ask("megatron-fsdp-v1", {{7}}, 2, {.strategy = layout::FsdpStrategy::no_shard}));
     }},
    {"B29", "a scalar is forgotten", "L12", [] { return ask("zero12-flat", {{}}, 2); },
     [](Claim& c) {
       c.groups[0].rule.slots.clear();
       c.groups[0].shard(0, 0).segs.clear();
     }},
    {"B30", "the last rank passes its unpadded payload to a gather", "L25",
     [] { return ask("fsdp2-per-param", {{4096}}, 3); },
     [](Claim& c) { c.groups[0].shard(2, 0).buf_numel = 1364; }},
    {"B31", "a kernel takes the last tensor for non-empty", "L12",
     [] {
       return ask("zero12-flat", {{3}, {0}}, 1);
     },
     [](Claim& c) {
       c.groups[0].shard(0, 0).segs.push_back({ParamId{1}, 0, 1, 3});
     }},
    {"B32", "one rank has no gradient for an expert and leaves it out", "L25",
     [] {
       return ask("fsdp2-per-param", {{4}, {4}}, 2);
     },
     [](Claim& c) {
       c.groups[0].shard(1, 0).segs.pop_back();
       c.groups[0].shard(1, 0).buf_numel -= 2;
     }},
};

}  // namespace

std::span<const LayoutFault> padding_and_boundary_faults() {
  return kFaults;
}

}  // namespace shardcheck::laws
