#include "core/layout/megatron_layerwise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "core/layout/megatron_ddp.h"

namespace shardcheck::layout {
namespace {

constexpr std::int64_t kStartAlignment = 64;

/// max * min^2 of a matrix exceeds 64 bits for shapes that 64-bit sizes still allow.
__extension__ using Cost = __int128;

Cost cost_of(const Parameter& parameter) {
  if (parameter.shape.size() != 2) return parameter.numel();
  const Cost m = multiply_sizes(parameter.shape[0], parameter.remat_factor);
  const Cost n = parameter.shape[1];
  return std::max(m, n) * std::min(m, n) * std::min(m, n);
}

struct Item {
  ParamId id;
  std::int64_t numel;
  Cost cost;
};

/// A running greedy estimate of the shards' loads, in walk order; it only decides when a chunk is full.
class LoadEstimate {
 public:
  LoadEstimate(std::int32_t world, std::int64_t shard_unit) : loads_(world, 0), shard_unit_(shard_unit) {}

  bool fits(std::int64_t numel) const {
    const auto [least, most] = std::ranges::minmax(loads_);
    return add_sizes(round_up_size(least, kStartAlignment), numel) <= round_up_size(most, shard_unit_);
  }
  void add(std::int64_t numel) {
    std::int64_t& least = *std::ranges::min_element(loads_);
    least = add_sizes(round_up_size(least, kStartAlignment), numel);
  }
  void reset() { std::ranges::fill(loads_, 0); }

 private:
  std::vector<std::int64_t> loads_;
  std::int64_t shard_unit_;  ///< q
};

class Placer {
 public:
  Placer(const DdpGroup& group, const MegatronDdpOptions& options)
      : world_(group.world),
        bucket_size_(options.bucket_size),
        shard_unit_(lcm_sizes(kStartAlignment, ddp_bucket_granularity(world_, options) / world_)),
        total_cost_(world_, 0),
        loads_(world_, shard_unit_) {
    buffer_.key = group.key;
    buffer_.world = world_;
  }

  Buffer run(std::span<const Parameter> parameters, const std::vector<ParamId>& params) {
    for (const ParamId id : std::views::reverse(params)) {
      const Parameter& parameter = parameters[id.value];
      const Item item{id, parameter.numel(), cost_of(parameter)};
      if (parameter.shared_embedding) {
        emit_chunk();
        emit_shared(item);
        continue;
      }
      if (!chunk_.empty() && bucket_size_ && chunk_numel_ >= limit() && !loads_.fits(item.numel))
        emit_chunk();
      chunk_.push_back(item);
      chunk_numel_ = add_sizes(chunk_numel_, item.numel);
      loads_.add(item.numel);
    }
    emit_chunk();
    buffer_.size = start_;
    finish_buffer(buffer_);
    return std::move(buffer_);
  }

 private:
  /// In double as the original has it; the comparison comes out as with exact rationals.
  std::int64_t limit() const {
    const std::int64_t largest = std::ranges::max(chunk_, {}, &Item::numel).numel;
    const double slots = static_cast<double>(multiply_sizes(world_, largest));
    return std::max(*bucket_size_, static_cast<std::int64_t>(std::floor(slots * 0.9)));
  }

  void emit_chunk() {
    if (chunk_.empty()) return;
    std::ranges::stable_sort(chunk_, [](const Item& a, const Item& b) { return a.cost > b.cost; });
    const double cap = static_cast<double>(chunk_numel_) / world_ * 1.3;
    std::vector<std::int64_t> cursors(world_, 0);
    std::vector<std::pair<std::int32_t, Slot>> placed;  // shard and place inside it
    for (const Item& item : chunk_) {
      const std::int32_t shard = choose(item, cursors, cap);
      const std::int64_t lo = round_up_size(cursors[shard], kStartAlignment);
      cursors[shard] = add_sizes(lo, item.numel);
      total_cost_[shard] += item.cost;
      placed.push_back({shard, Slot{item.id, lo, cursors[shard], next_bucket(), item.numel}});
    }
    // The original lists parameters by offset.
    std::ranges::stable_sort(placed, {}, &std::pair<std::int32_t, Slot>::first);
    close_bucket(std::ranges::max(cursors), chunk_numel_, placed);
    chunk_.clear();
    chunk_numel_ = 0;
    loads_.reset();
  }

  /// The whole tensor in shard 0 and as much padding in every other shard (B12).
  void emit_shared(const Item& item) {
    close_bucket(item.numel, item.numel, {{0, Slot{item.id, 0, item.numel, next_bucket(), item.numel}}});
  }

  /// The cheapest shard below the cap, or the emptiest one when none is; the first minimum wins.
  std::int32_t choose(const Item& item, const std::vector<std::int64_t>& cursors, double cap) const {
    std::int32_t best = -1;
    for (std::int32_t shard = 0; shard < world_; ++shard) {
      const std::int64_t end = add_sizes(round_up_size(cursors[shard], kStartAlignment), item.numel);
      if (static_cast<double>(end) > cap) continue;
      if (best < 0 || total_cost_[shard] < total_cost_[best]) best = shard;
    }
    if (best >= 0) return best;
    return static_cast<std::int32_t>(std::ranges::min_element(cursors) - cursors.begin());
  }

  void close_bucket(std::int64_t longest, std::int64_t payload,
                    const std::vector<std::pair<std::int32_t, Slot>>& placed) {
    const std::int64_t shard_size = round_up_size(longest, shard_unit_);
    const std::int64_t end = add_sizes(start_, multiply_sizes(world_, shard_size));
    for (auto [shard, slot] : placed) {
      const std::int64_t base = start_ + shard * shard_size;
      slot.lo += base;
      slot.hi += base;
      buffer_.slots.push_back(slot);
    }
    buffer_.buckets.push_back({start_, end, payload});
    start_ = end;
  }

  std::int32_t next_bucket() const { return static_cast<std::int32_t>(buffer_.buckets.size()); }

  std::int32_t world_;
  std::optional<std::int64_t> bucket_size_;
  std::int64_t shard_unit_;       ///< q
  std::vector<Cost> total_cost_;  ///< persists over buckets, cursors do not
  LoadEstimate loads_;
  std::vector<Item> chunk_;
  std::int64_t chunk_numel_ = 0;
  std::int64_t start_ = 0;
  Buffer buffer_;
};

}  // namespace

Layout megatron_layerwise(std::span<const Parameter> parameters, const MegatronDdpOptions& options) {
  Layout layout;
  for (const DdpGroup& group : group_for_ddp(parameters, options)) {
    layout.buffers.push_back(group.key.layerwise ? Placer(group, options).run(parameters, group.params)
                                                 : place_megatron_ddp(parameters, group, options));
  }
  return layout;
}

}  // namespace shardcheck::layout
