// Recomputes the `output` of a recorded layout with core/layout, in the form of the record, so that the two
// can be compared value by value. One function a layout, found by name in a table; the functions live by
// family in layouts_megatron_ddp.cpp, layouts_megatron_fsdp.cpp, layouts_pytorch.cpp and
// layouts_zero_and_ragged.cpp.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/layout/layout.h"
#include "tools/shardcheck/conform/layouts_input.h"

namespace shardcheck::conform {

/// True when the layout of that name can be recomputed.
bool recomputes(const std::string& layout);

/// The output, or {"error": reason} for a rejected input. Throws Error for a configuration that makes no
/// sense.
nlohmann::json recompute(const RecordedLayout& recorded);

/// The size of the dense group: `config.dp`, which has to be the world.
std::int32_t data_parallel(const RecordedLayout& recorded);

/// The buffer of a layout that was given one parameter group; bad input when there is not exactly one.
const layout::Buffer& only_buffer(const layout::Layout& layout);

nlohmann::json megatron_ddp_nopad(const RecordedLayout& recorded);
nlohmann::json megatron_ddp(const RecordedLayout& recorded);
nlohmann::json megatron_layerwise(const RecordedLayout& recorded);
nlohmann::json megatron_fsdp_v1(const RecordedLayout& recorded);
nlohmann::json mfsdp_v2_flat(const RecordedLayout& recorded);
nlohmann::json mfsdp_v2_block_atomic(const RecordedLayout& recorded);
nlohmann::json mfsdp_v2_tensor_atomic(const RecordedLayout& recorded);
nlohmann::json fsdp1_flat(const RecordedLayout& recorded);
nlohmann::json fsdp2_per_param(const RecordedLayout& recorded);
nlohmann::json dtensor_nd(const RecordedLayout& recorded);
nlohmann::json zero12_flat(const RecordedLayout& recorded);
nlohmann::json zero3_flat(const RecordedLayout& recorded);
nlohmann::json vescale_ragged(const RecordedLayout& recorded);

}  // namespace shardcheck::conform
