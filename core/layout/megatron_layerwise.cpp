#include "core/layout/megatron_layerwise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <set>
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

/// Shards ordered by a number that grows, the lowest shard first among equals: the least is at hand whatever
/// the world.
template <class Number>
class Ranking {
 public:
  explicit Ranking(std::int32_t world) : numbers_(world, 0) { fill(); }

  const Number& of(std::int32_t shard) const { return numbers_[shard]; }
  std::int32_t least() const { return order_.begin()->second; }
  Number most() const { return order_.rbegin()->first; }
  const std::set<std::pair<Number, std::int32_t>>& order() const { return order_; }

  void set(std::int32_t shard, Number number) {
    order_.erase({numbers_[shard], shard});
    numbers_[shard] = number;
    order_.insert({number, shard});
  }
  void reset() {
    std::ranges::fill(numbers_, 0);
    order_.clear();
    fill();
  }

 private:
  void fill() {
    for (std::size_t shard = 0; shard < numbers_.size(); ++shard)
      order_.insert(order_.end(), {numbers_[shard], static_cast<std::int32_t>(shard)});
  }
  std::vector<Number> numbers_;
  std::set<std::pair<Number, std::int32_t>> order_;
};

/// A running greedy estimate of the shards' loads, in walk order; it only decides when a chunk is full.
class LoadEstimate {
 public:
  LoadEstimate(std::int32_t world, std::int64_t shard_unit) : loads_(world), shard_unit_(shard_unit) {}

  bool fits(std::int64_t numel) const {
    return add_sizes(round_up_size(loads_.of(loads_.least()), kStartAlignment), numel) <=
           round_up_size(loads_.most(), shard_unit_);
  }
  void add(std::int64_t numel) {
    const std::int32_t least = loads_.least();
    loads_.set(least, add_sizes(round_up_size(loads_.of(least), kStartAlignment), numel));
  }
  void reset() { loads_.reset(); }

 private:
  Ranking<std::int64_t> loads_;
  std::int64_t shard_unit_;  ///< q
};

class Placer {
 public:
  Placer(const DdpGroup& group, const MegatronDdpOptions& options)
      : world_(group.world),
        bucket_size_(options.bucket_size),
        shard_unit_(lcm_sizes(kStartAlignment, ddp_bucket_granularity(world_, options) / world_)),
        total_cost_(world_),
        cursors_(world_),
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
      chunk_longest_ = std::max(chunk_longest_, item.numel);
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
    const double slots = static_cast<double>(multiply_sizes(world_, chunk_longest_));
    return std::max(*bucket_size_, static_cast<std::int64_t>(std::floor(slots * 0.9)));
  }

  void emit_chunk() {
    if (chunk_.empty()) return;
    std::ranges::stable_sort(chunk_, [](const Item& a, const Item& b) { return a.cost > b.cost; });
    const double cap = static_cast<double>(chunk_numel_) / world_ * 1.3;
    cursors_.reset();
    std::vector<std::pair<std::int32_t, Slot>> placed;  // shard and place inside it
    for (const Item& item : chunk_) {
      const std::int32_t shard = choose(item, cap);
      const std::int64_t lo = round_up_size(cursors_.of(shard), kStartAlignment);
      cursors_.set(shard, add_sizes(lo, item.numel));
      total_cost_.set(shard, total_cost_.of(shard) + item.cost);
      placed.push_back({shard, Slot{item.id, lo, cursors_.of(shard), next_bucket(), item.numel}});
    }
    // The original lists parameters by offset.
    std::ranges::stable_sort(placed, {}, &std::pair<std::int32_t, Slot>::first);
    close_bucket(cursors_.most(), chunk_numel_, placed);
    chunk_.clear();
    chunk_numel_ = chunk_longest_ = 0;
    loads_.reset();
  }

  /// The whole tensor in shard 0 and as much padding in every other shard (B12).
  void emit_shared(const Item& item) {
    close_bucket(item.numel, item.numel, {{0, Slot{item.id, 0, item.numel, next_bucket(), item.numel}}});
  }

  /// The cheapest shard below the cap, or the emptiest one when none is; the first minimum wins.
  std::int32_t choose(const Item& item, double cap) const {
    const auto fits = [&](std::int32_t shard) {
      const std::int64_t end = add_sizes(round_up_size(cursors_.of(shard), kStartAlignment), item.numel);
      return static_cast<double>(end) <= cap;
    };
    if (!fits(cursors_.least())) return cursors_.least();
    for (const auto& [cost, shard] : total_cost_.order()) {
      if (fits(shard)) return shard;
    }
    return cursors_.least();
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
  std::int64_t shard_unit_;   ///< q
  Ranking<Cost> total_cost_;  ///< persists over buckets, cursors do not
  Ranking<std::int64_t> cursors_;
  LoadEstimate loads_;
  std::vector<Item> chunk_;
  std::int64_t chunk_numel_ = 0;
  std::int64_t chunk_longest_ = 0;  ///< elements of its largest tensor
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
