#include "core/layout/mfsdp_v2_block_atomic.h"

#include "core/integers.h"

namespace shardcheck::layout {

std::vector<Mxfp8Scales> mxfp8_scales(const Buffer& buffer, std::span<const Parameter> parameters) {
  std::vector<Mxfp8Scales> scales;
  for (const std::int32_t listed : buffer.order) {
    const Slot& slot = buffer.slots[listed];
    const auto& shape = parameters[slot.param.value].shape;
    if (shape.size() != 2 || shape[0] % kMxfp8Block != 0 || shape[1] % kMxfp8Block != 0) return {};
    scales.push_back({slot.param,
                      div_exact(slot.lo, kMxfp8Block),
                      div_exact(slot.hi, kMxfp8Block),
                      {shape[0], shape[1] / kMxfp8Block},
                      {shape[0] / kMxfp8Block, shape[1]}});
  }
  return scales;
}

}  // namespace shardcheck::layout
