#include "tools/shardcheck/conform/layouts_recompute.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "core/layout/rejection.h"

namespace shardcheck::conform {

using nlohmann::json;

std::int32_t data_parallel(const RecordedLayout& recorded) {
  const Field dp = recorded.config.at("dp");
  if (dp.small_integer(1) != recorded.world) dp.reject("the world, " + std::to_string(recorded.world));
  return recorded.world;
}

const layout::Buffer& only_buffer(const layout::Layout& layout) {
  if (layout.buffers.size() != 1)
    throw bad_input("params", "this layout records exactly one parameter group");
  return layout.buffers.front();
}

namespace {

struct Entry {
  std::string_view layout;
  json (*recompute)(const RecordedLayout&);
};

constexpr Entry kEntries[] = {
    {"megatron-ddp-nopad", megatron_ddp_nopad},
    {"megatron-ddp", megatron_ddp},
    {"megatron-layerwise", megatron_layerwise},
    {"megatron-fsdp-v1", megatron_fsdp_v1},
    {"mfsdp-v2-flat", mfsdp_v2_flat},
    {"mfsdp-v2-block-atomic", mfsdp_v2_block_atomic},
    {"mfsdp-v2-tensor-atomic", mfsdp_v2_tensor_atomic},
    {"fsdp1-flat", fsdp1_flat},
    {"fsdp2-per-param", fsdp2_per_param},
    {"dtensor-nd", dtensor_nd},
    {"zero12-flat", zero12_flat},
    {"zero3-flat", zero3_flat},
    {"vescale-ragged", vescale_ragged},
};

}  // namespace

bool recomputes(const std::string& layout) {
  return std::ranges::find(kEntries, layout, &Entry::layout) != std::end(kEntries);
}

json recompute(const RecordedLayout& recorded) try {
  const auto* entry = std::ranges::find(kEntries, recorded.layout, &Entry::layout);
  SC_ASSERT(entry != std::end(kEntries), "recompute was not asked for first");
  return entry->recompute(recorded);
} catch (const layout::Rejected& rejected) {
  return {{"error", layout::name_of(rejected.reason())}};
}

}  // namespace shardcheck::conform
