#include "properties/layout_laws/zoo_files.h"

#include <algorithm>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

using checkpoint::ShardedIndex;

Asked fifty_seven() {
  return ask("zero12-flat", {{57}}, 2);
}

Asked plain(std::int64_t extent, std::int32_t world) {
  return ask("fsdp1-flat", {{extent}}, world, {.fsdp1_mode = layout::Fsdp1Mode::plain});
}

constexpr LayoutFault kFaults[] = {
    {"B3", "a converter's alignment differs from the writer's", "L18", fifty_seven, nullptr,
     [](ShardedIndex& index) { index.tensors[0].pieces[1].hi = 59; }},
    {"B4", "a converter works only where the world divides the tensor", "L18",
     [] { return ask("zero3-flat", {{5}}, 4); }, nullptr,
     [](ShardedIndex& index) {
       index.tensors[0].pieces = {{0, 0, 1, 0}, {1, 1, 2, 0}, {2, 2, 3, 0}, {3, 3, 4, 0}};
     }},
    {"B6", "bucket-end padding is written to a checkpoint", "L18",
     [] { return ask("megatron-ddp", {{1000}}, 8); }, nullptr,
     [](ShardedIndex& index) { index.tensors[0].pieces.back().hi = 1024; }},
    {"B7", "ranks that hold only padding do not save", "L18",
     [] { return ask("megatron-ddp", {{1000}}, 8, {.pad_for_high_bus_bandwidth = true}); }, nullptr,
     [](ShardedIndex& index) { index.files.resize(1); }},
    {"B27", "an empty shard has a real shard's offset and displaces it", "L18",
     [] { return ask("fsdp2-per-param", {{5}}, 4); }, nullptr,
     [](ShardedIndex& index) { index.tensors[0].pieces.pop_back(); }},
    {"B28", "a loader forgets the ranks that hold nothing", "L18",
     [] { return ask("fsdp2-per-param", {{6}}, 4); }, nullptr,
     [](ShardedIndex& index) { index.files.pop_back(); }},
    {"K34", "state is shifted by padding after a change of the rank count", "L17", fifty_seven, nullptr,
     nullptr,
     [](Moves& moves) {
       for (layout::Copy& copy : moves.there) copy.to.off += copy.to.rank.value > 0;
     }},
    {"K19", "a move assumes ranks in the other order", "L17", [] { return plain(12, 2); }, nullptr, nullptr,
     [](Moves& moves) {
       for (layout::Copy& copy : moves.there) copy.from.rank = Rank{1 - copy.from.rank.value};
     }},
    {"M10", "the way back leaves a copy out", "L16", [] { return plain(12, 3); }, nullptr, nullptr,
     [](Moves& moves) { moves.back.pop_back(); }},
};

}  // namespace

std::span<const LayoutFault> file_and_move_faults() {
  return kFaults;
}

}  // namespace shardcheck::laws
