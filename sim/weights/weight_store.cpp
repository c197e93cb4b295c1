#include "sim/weights/weight_store.h"

#include <algorithm>

namespace shardcheck {

using recipe::Direction;

WeightStore::WeightStore(Job& job) : job_(job), recipe_(weight_recipe_of(*job.scenario.fp8)) {
  const auto parameters = static_cast<std::int32_t>(job.scenario.parameters.size());
  index_of_.assign(static_cast<std::size_t>(parameters), -1);
  for (std::int32_t p = 0; p < parameters; ++p) {
    if (!has_fp8_weight(job.scenario, p)) continue;
    index_of_[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(weights_.size());
    Weight weight;
    weight.parameter = p;
    weight.extent = {job.parameter(p).rows(), job.parameter(p).columns()};
    weights_.push_back(std::move(weight));
  }
}

void WeightStore::setup() {
  allocate_codes();
  for (Weight& weight : weights_) allocate_weight(weight);
  allocate_amaxes();
  if (recipe_.is_delayed) allocate_histories();
}

View WeightStore::bucket_codes(std::size_t bucket, Direction direction) const {
  return (direction == Direction::row ? row_codes_ : col_codes_)[bucket];
}

bool WeightStore::is_sharded(std::size_t bucket) const {
  return shards_gradient(job_.scenario.strategy) && job_.geometry.buckets[bucket].group > 1 &&
         row_codes_[bucket].numel > 0;
}

bool WeightStore::is_copied_out(std::size_t bucket) const {
  return job_.scenario.strategy == Strategy::fsdp2 && is_sharded(bucket);
}

bool WeightStore::gives_up() const {
  return job_.scenario.strategy == Strategy::fsdp_optim_grads_params ||
         job_.scenario.strategy == Strategy::fsdp2;
}

View WeightStore::own_codes(const Weight& weight, Direction direction, Rank rank) const {
  const WeightPiece& piece = weight.pieces[static_cast<std::size_t>(rank.value)];
  const View bucket = bucket_codes(bucket_of(weight.parameter), direction);
  return {bucket.buffer, bucket.offset + piece.place, piece.numel};
}

/// Bytes of a bucket that belong to no FP8 weight are gathered too, and stay zero (fp8 4.5 p1).
void WeightStore::allocate_codes() {
  for (std::size_t b = 0; b < job_.geometry.buckets.size(); ++b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const bool has_codes =
        std::ranges::any_of(bucket.members, [&](const Member& member) { return has(member.parameter); });
    row_codes_.push_back({BufferId{0}, 0, 0});
    col_codes_.push_back(row_codes_.back());
    if (!has_codes) continue;
    for (const Direction direction : recipe_.quantised) {
      const std::string name =
          std::string("codes.") + std::string(name_of(direction)) + "." + std::to_string(b);
      const BufferId id = job_.allocate(name, BufferRole::codes, DType::e4m3, bucket.numel());
      const View whole = job_.build.whole(id);
      (direction == Direction::row ? row_codes_ : col_codes_).back() = whole;
      job_.build.op(Fill{0}, job_.why(Purpose::setup), Stream::compute, job_.all_ranks).on(whole);
    }
  }
}

void WeightStore::allocate_weight(Weight& weight) {
  const ScenarioParameter& p = job_.parameter(weight.parameter);
  const std::size_t bucket = bucket_of(weight.parameter);
  Plan& plan = job_.planned.plan;
  const auto allocate = [&](std::string_view what, BufferRole role, DType type, std::int64_t numel) {
    return job_.build.whole(job_.allocate(p.name + "." + std::string(what), role, type, numel));
  };
  weight.initial = allocate("initial", BufferRole::initial, p.dtype, p.numel());
  job_.planned.initial.push_back({weight.parameter, weight.initial});
  weight.pieces = pieces_of(weight.parameter);
  std::int64_t most = 0;
  for (const Rank rank : job_.all_ranks) {
    const WeightPiece& piece = weight.pieces[static_cast<std::size_t>(rank.value)];
    most = std::max(most, piece.numel);
    if (piece.numel > 0)
      job_.planned.masters.push_back({ParamId{weight.parameter}, rank, piece.master, piece.first});
  }
  weight.rounded = allocate("rounded", BufferRole::weights, p.dtype, most);
  for (const Direction direction : {Direction::row, Direction::column}) {
    CopyViews& copy = weight.copy(direction);
    const bool derived = direction == Direction::column && recipe_.derives_column;
    const std::string which(name_of(direction));
    if (derived) {
      copy.codes = allocate("transpose", BufferRole::codes, DType::e4m3, p.numel());
    } else if (is_copied_out(bucket)) {
      copy.codes = allocate(which + "_codes", BufferRole::codes, DType::e4m3, p.numel());
    } else {
      copy.codes = bucket_codes(bucket, direction);
      copy.codes.offset += job_.geometry.pieces_of[static_cast<std::size_t>(weight.parameter)].front().lo;
      copy.codes.numel = p.numel();
    }
    const PlaneSize plane = plane_size(recipe_.weights, direction, weight.extent);
    copy.scales = allocate(which + "_scales", BufferRole::scales, plane.dtype, plane.numel);
    const bool is_kept = derived && job_.scenario.fp8->transposes == Transposes::keep;
    plan.weight_copies.push_back(
        {ParamId{weight.parameter}, direction, copy.codes, copy.scales, derived, is_kept});
    if (!derived) note_own_codes(weight, direction);
  }
}

void WeightStore::note_own_codes(const Weight& weight, Direction direction) {
  for (const Rank rank : job_.all_ranks) {
    const View own = own_codes(weight, direction, rank);
    const std::int64_t first = weight.pieces[static_cast<std::size_t>(rank.value)].first;
    if (own.numel > 0)
      job_.planned.code_pieces.push_back({direction, {ParamId{weight.parameter}, rank, own, first}});
  }
}

void WeightStore::allocate_amaxes() {
  for (const bool expert : {false, true}) {
    std::int64_t count = 0;
    std::vector<std::int64_t> offsets;
    const auto each_copy = [&](auto visit) {
      for (Weight& weight : weights_) {
        if (job_.parameter(weight.parameter).expert != expert) continue;
        for (const Direction direction : recipe_.quantised) visit(weight, direction);
      }
    };
    each_copy([&](Weight& weight, Direction direction) {
      offsets.push_back(count);
      count += block_count(recipe_.weights, direction, weight.extent);
    });
    if (count == 0) continue;
    const std::string which = expert ? ".expert" : "";
    const BufferId amaxes = job_.allocate("amaxes" + which, BufferRole::amaxes, DType::f32, count);
    const BufferId factors = job_.allocate("factors" + which, BufferRole::amaxes, DType::f32, count);
    packed_.push_back({expert, job_.build.whole(amaxes)});
    std::size_t next = 0;
    each_copy([&](Weight& weight, Direction direction) {
      const std::int64_t blocks = block_count(recipe_.weights, direction, weight.extent);
      weight.copy(direction).amaxes = {amaxes, offsets[next], blocks};
      weight.copy(direction).factors = {factors, offsets[next++], blocks};
    });
  }
}

void WeightStore::allocate_histories() {
  const std::int64_t length = job_.scenario.fp8->history;
  for (Weight& weight : weights_) {
    const std::string name = job_.parameter(weight.parameter).name;
    const BufferId history = job_.allocate(name + ".history", BufferRole::amaxes, DType::f32, length);
    const BufferId scale = job_.allocate(name + ".delayed_scale", BufferRole::amaxes, DType::f32, 2);
    weight.delayed = {weight.row.amaxes, job_.build.whole(history), job_.build.whole(scale)};
    job_.planned.delayed.push_back({weight.parameter, weight.delayed.history, weight.delayed.scale});
    const Why why = job_.why(Purpose::setup, weight.parameter);
    job_.build.op(Fill{0}, why, Stream::compute, job_.all_ranks).on(weight.delayed.history);
    job_.build.op(Fill{1}, why, Stream::compute, job_.all_ranks).on(weight.delayed.scale);
  }
}

/// What the rank's slice of the bucket has of the parameter; all of it where nothing is sharded.
std::vector<WeightPiece> WeightStore::pieces_of(std::int32_t parameter) const {
  const std::size_t b = bucket_of(parameter);
  const OwnerBucket& bucket = job_.geometry.buckets[b];
  const bool sharded = shards_gradient(job_.scenario.strategy);
  const BufferId master = job_.masters[b];
  std::vector<WeightPiece> pieces(job_.all_ranks.size());
  const auto ranks = job_.reduction_ranks(bucket);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::int64_t position = job_.slice_of(ranks[i], bucket.expert);
    const std::int64_t lo = sharded ? position * bucket.slice() : 0;
    const std::int64_t hi = sharded ? lo + bucket.slice() : bucket.numel();
    WeightPiece& piece = pieces[static_cast<std::size_t>(ranks[i].value)];
    piece.master.buffer = master;
    for (const Member& member : job_.geometry.pieces_of[static_cast<std::size_t>(parameter)]) {
      const std::int64_t from = std::max(member.lo, lo), to = std::min(member.hi, hi);
      if (to > from)
        piece = {member.first + from - member.lo, to - from, from, {master, from - lo, to - from}};
    }
  }
  return pieces;
}

}  // namespace shardcheck
