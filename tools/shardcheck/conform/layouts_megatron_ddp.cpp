// Recorded outputs of the Megatron-Core DDP layouts (shard-layouts 2.2 to 2.4), recomputed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/layout/megatron_ddp.h"
#include "core/layout/megatron_ddp_nopad.h"
#include "core/layout/megatron_ddp_packed.h"
#include "core/layout/megatron_layerwise.h"
#include "core/layout/rejection.h"
#include "tools/shardcheck/conform/layouts_as_json.h"
#include "tools/shardcheck/conform/layouts_recompute.h"

namespace shardcheck::conform {

using layout::Buffer;
using layout::Layout;
using nlohmann::json;

namespace {

layout::MegatronDdpOptions ddp_options(const RecordedLayout& recorded) {
  layout::MegatronDdpOptions options{.world = data_parallel(recorded)};
  if (const auto expert = recorded.config.find("expert_dp")) options.expert_world = expert->small_integer(1);
  if (const auto size = recorded.config.find("bucket_size")) options.bucket_size = size->integer(0);
  options.grad_reduce_in_f32 = recorded.config.at("grad_reduce_in_fp32").boolean();
  const auto pad = recorded.config.find("pad_for_high_nccl_busbw");
  options.pad_for_high_bus_bandwidth = pad && pad->boolean();
  return options;
}

json ddp_buffer_as_json(const Buffer& buffer, const std::string& rule) {
  json result = buffer_as_json(buffer);
  result["key"] = {{"param_dtype", recorded_name(buffer.key.storage)},
                   {"grad_dtype", recorded_name(buffer.key.gradient)},
                   {"expert", buffer.key.expert},
                   {"layerwise", buffer.key.layerwise}};
  result["rule"] = rule;
  return result;
}

bool has_nvfp4(const Buffer& buffer, const RecordedLayout& recorded) {
  return std::ranges::any_of(buffer.slots, [&](const layout::Slot& slot) {
    return recorded.params[slot.param.value].quantized == layout::Quantized::nvfp4;
  });
}

json packed_as_json(const Buffer& buffer, const RecordedLayout& recorded) try {
  const layout::PackedSpace packed = layout::pack_nvfp4(buffer, recorded.params, ddp_options(recorded));
  json buckets = json::array();
  for (const layout::Range& bucket : packed.buckets) buckets.push_back({bucket.lo, bucket.hi});
  json params = json::array();
  for (const layout::Slot& slot : packed.slots) {
    params.push_back({slot.param.value, slot.lo, slot.hi, slot.bucket});
  }
  return {{"buckets", buckets}, {"params", params}, {"numel_unpadded", packed.unpadded}};
} catch (const layout::Rejected& rejected) {
  return {{"error", layout::name_of(rejected.reason())}};
}

}  // namespace

json megatron_ddp_nopad(const RecordedLayout& recorded) {
  json buffers = json::array();
  for (const Buffer& buffer : layout::megatron_ddp_nopad(recorded.params, ddp_options(recorded)).buffers) {
    buffers.push_back(ddp_buffer_as_json(buffer, "megatron-ddp-nopad"));
    buffers.back()["replicated"] = true;
  }
  return {{"buffers", buffers}};
}

json megatron_ddp(const RecordedLayout& recorded) {
  json buffers = json::array();
  for (const Buffer& buffer : layout::megatron_ddp(recorded.params, ddp_options(recorded)).buffers) {
    buffers.push_back(ddp_buffer_as_json(buffer, "megatron-ddp"));
    if (has_nvfp4(buffer, recorded)) buffers.back()["packed"] = packed_as_json(buffer, recorded);
  }
  return {{"buffers", buffers}};
}

json megatron_layerwise(const RecordedLayout& recorded) {
  json buffers = json::array();
  for (const Buffer& buffer : layout::megatron_layerwise(recorded.params, ddp_options(recorded)).buffers) {
    buffers.push_back(
        ddp_buffer_as_json(buffer, buffer.key.layerwise ? "megatron-layerwise" : "megatron-ddp"));
  }
  return {{"buffers", buffers}};
}

}  // namespace shardcheck::conform
