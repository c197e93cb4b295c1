// Buffers in the form of the recorded layouts: the fields that all layouts share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/layout/layout.h"

namespace shardcheck::conform {

/// The ranks that a record stores: all of at most 8, else 0, 1, W/2, W-2 and W-1.
std::vector<Rank> recorded_ranks(std::int32_t world);

/// World, size, buckets, params, ranks and digest of a buffer.
nlohmann::json buffer_as_json(const layout::Buffer& buffer);

/// The same with `shard`, the elements of a rank.
nlohmann::json sharded_buffer_as_json(const layout::Buffer& buffer);

}  // namespace shardcheck::conform
