#include "properties/layout_bytes/move_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/plan/builder.h"
#include "properties/layout_laws/image.h"

namespace shardcheck {
namespace {

using laws::Claim;
using laws::GroupClaim;

std::vector<Rank> first_ranks(std::int32_t count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) ranks[static_cast<std::size_t>(i)] = Rank{i};
  return ranks;
}

class Builder {
 public:
  Builder(const Claim& from, MovePlan& result) : from_(from), result_(result), build_(result.plan) {}

  void build(const Claim* to) {
    for (const GroupClaim& group : from_.groups)
      result_.plan.ranks = std::max(result_.plan.ranks, group.rule.world);
    for (std::size_t g = 0; g < from_.groups.size(); ++g) add_group(g);
    if (to != nullptr) {
      for (std::size_t g = 0; g < to->groups.size(); ++g) cut(*to, g);
    }
  }

 private:
  OpIndex last_op() const { return OpIndex{static_cast<std::int32_t>(result_.plan.ops.size()) - 1}; }

  BufferId allocated(const std::string& name, std::int64_t numel, std::span<const Rank> ranks) {
    const BufferId id = build_.buffer(name, BufferRole::staging, DType::f32, numel);
    build_.op(Allocate{}, {.purpose = Purpose::setup}, Stream::compute, ranks).on(build_.whole(id));
    return id;
  }

  void add_group(std::size_t g) {
    const layout::Buffer& rule = from_.groups[g].rule;
    const std::vector<Rank> ranks = first_ranks(rule.world);
    MovedGroup& moved = result_.groups.emplace_back();
    std::int64_t shard = 0;
    for (const layout::Bucket& bucket : rule.buckets) {
      moved.begin.push_back(shard);
      shard += (bucket.hi - bucket.lo) / rule.world;
    }
    moved.shards = allocated(fmt::format("shards {}", g), shard, ranks);
    moved.sums = allocated(fmt::format("sums {}", g), shard, ranks);
    moved.gathered = allocated(fmt::format("gathered {}", g), rule.size, ranks);
    moved.gradients = allocated(fmt::format("gradients {}", g), rule.size, ranks);
    for (std::size_t b = 0; b < rule.buckets.size(); ++b) {
      const layout::Bucket& bucket = rule.buckets[b];
      const std::int64_t numel = bucket.hi - bucket.lo, part = numel / rule.world;
      const auto collective = [&](Collective kind, View input, View output) {
        build_
            .op(Communicate{kind, Reduction::sum, rule.world}, {.purpose = Purpose::reduce}, Stream::compute,
                ranks)
            .on(input)
            .on(output);
        return last_op();
      };
      moved.gathers.push_back(collective(Collective::all_gather, {moved.shards, moved.begin[b], part},
                                         {moved.gathered, bucket.lo, numel}));
      moved.reductions.push_back(collective(Collective::reduce_scatter, {moved.gradients, bucket.lo, numel},
                                            {moved.sums, moved.begin[b], part}));
    }
  }

  /// Where the gathered buffer of the first layout has the element.
  std::int64_t place_of(std::int32_t group, ParamId param, std::int64_t element) const {
    const layout::Buffer& rule = from_.groups[static_cast<std::size_t>(group)].rule;
    return laws::image_place(rule, *rule.find(param), element);
  }

  std::int32_t group_of(ParamId param) const {
    for (std::size_t g = 0; g < from_.groups.size(); ++g) {
      if (from_.groups[g].rule.find(param) != nullptr) return static_cast<std::int32_t>(g);
    }
    return -1;
  }

  void cut(const Claim& to, std::size_t g) {
    const GroupClaim& group = to.groups[g];
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      const layout::RankLayout& shard = group.shards[s];
      if (shard.buf_numel == 0) continue;
      CutShard cut{.group = static_cast<std::int32_t>(g),
                   .bucket = static_cast<std::int32_t>(s % group.buckets()),
                   .owner = static_cast<std::int32_t>(s / group.buckets())};
      cut.rank = Rank{0};
      for (const layout::Segment& segment : shard.segs) {
        const std::int32_t source = group_of(segment.param);
        if (source < 0) continue;
        if (cut.last_copy.value < 0) {
          cut.rank = Rank{cut.owner % from_.groups[static_cast<std::size_t>(source)].rule.world};
          cut.buffer = allocated(fmt::format("cut {}.{} of rank {}", cut.group, cut.bucket, cut.owner),
                                 std::max(shard.buf_numel, end_of(shard)), std::span(&cut.rank, 1));
        }
        // All sources are on the rank of the first one, or this shard mixes groups of different worlds.
        if (cut.rank.value >= from_.groups[static_cast<std::size_t>(source)].rule.world) continue;
        copy(source, segment, cut);
      }
      if (cut.last_copy.value >= 0) result_.cut.push_back(cut);
    }
  }

  static std::int64_t end_of(const layout::RankLayout& shard) {
    std::int64_t end = 0;
    for (const layout::Segment& s : shard.segs) end = std::max(end, s.off + s.p_hi - s.p_lo);
    return end;
  }

  /// Runs of elements that lie side by side in the gathered buffer.
  void copy(std::int32_t source, const layout::Segment& segment, CutShard& cut) {
    const BufferId gathered = result_.groups[static_cast<std::size_t>(source)].gathered;
    for (std::int64_t e = segment.p_lo; e < segment.p_hi;) {
      const std::int64_t first = place_of(source, segment.param, e);
      std::int64_t run = 1;
      while (e + run < segment.p_hi && place_of(source, segment.param, e + run) == first + run) ++run;
      build_.op(Copy{}, {.purpose = Purpose::unstage}, Stream::compute, std::span(&cut.rank, 1))
          .on({gathered, first, run})
          .on({cut.buffer, segment.off + e - segment.p_lo, run});
      cut.last_copy = last_op();
      e += run;
    }
  }

  const Claim& from_;
  MovePlan& result_;
  PlanBuilder build_;
};

}  // namespace

bool has_equal_shards(const Claim& claim) {
  return std::ranges::all_of(claim.groups, [](const GroupClaim& group) {
    return group.rule.cut == layout::Cut::equal || group.rule.cut == layout::Cut::per_parameter;
  });
}

MovePlan move_plan(const Claim& from, const Claim* to) {
  MovePlan result;
  Builder(from, result).build(to);
  return result;
}

}  // namespace shardcheck
