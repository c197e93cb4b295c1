#include "sim/weights/gathers.h"

#include "sim/owners/reduction.h"

namespace shardcheck {

using recipe::Direction;

Gathers::Gathers(Job& job, const WeightStore& store)
    : job_(job),
      store_(store),
      states_(2 * job.geometry.buckets.size()),
      has_column_copy_(job.scenario.parameters.size()) {}

void Gathers::begin_whole() {
  for (State& state : states_) state = {.is_whole = true};
}

void Gathers::invalidate() {
  for (std::size_t b = 0; b < job_.geometry.buckets.size(); ++b) {
    for (const Direction direction : store_.recipe().quantised)
      state(b, direction).is_whole = !store_.is_sharded(b);
  }
  has_column_copy_.assign(has_column_copy_.size(), false);
}

void Gathers::launch(std::size_t b, Direction direction) {
  State& now = state(b, direction);
  if (now.is_whole || store_.bucket_codes(b, direction).numel == 0) return;
  const OwnerBucket& bucket = job_.geometry.buckets[b];
  const auto ranks = job_.reduction_ranks(bucket);
  const Stream stream = job_.scenario.overlap ? Stream::reduce : Stream::compute;
  job_.take(Row::gather_weights);
  job_.order(Stream::compute, stream, ranks);
  const BucketViews views{bucket, store_.bucket_codes(b, direction)};
  const Communicate gather{Collective::all_gather, Reduction::sum, bucket.group};
  job_.build.op(gather, job_.why(Purpose::weights), stream, ranks);
  job_.build.on_each([&](std::int32_t i) {
    return views.slice(job_.slice_of(ranks[static_cast<std::size_t>(i)], bucket.expert));
  });
  job_.build.on(views.whole);
  now.is_whole = true;
  now.is_packed = store_.is_copied_out(b);
  if (stream == Stream::compute) return;
  now.arrives = job_.build.event();
  job_.build.op(Record{*now.arrives}, job_.why(Purpose::none), stream, ranks);
}

void Gathers::await(std::size_t b, Direction direction) {
  State& now = state(b, direction);
  const auto ranks = job_.reduction_ranks(job_.geometry.buckets[b]);
  if (now.arrives) job_.build.op(Wait{*now.arrives}, job_.why(Purpose::none), Stream::compute, ranks);
  now.arrives.reset();
  if (now.is_packed) copy_out(b, direction);
  now.is_packed = false;
}

void Gathers::copy_out(std::size_t b, Direction direction) {
  const View packed = store_.bucket_codes(b, direction);
  const auto ranks = job_.reduction_ranks(job_.geometry.buckets[b]);
  each_weight(b, [&](const Weight& weight) {
    const View whole = weight.copy(direction).codes;
    for (const Member& member : job_.geometry.pieces_of[static_cast<std::size_t>(weight.parameter)]) {
      const std::int64_t numel = member.hi - member.lo;
      if (numel == 0) continue;
      job_.build.op(Copy{}, job_.why(Purpose::weights, weight.parameter), Stream::compute, ranks);
      job_.build.on({packed.buffer, packed.offset + member.lo, numel});
      job_.build.on({whole.buffer, whole.offset + member.first, numel});
    }
  });
  undefine_rest(b, direction);
}

void Gathers::settle() {
  for (std::size_t b = 0; b < job_.geometry.buckets.size(); ++b) {
    for (const Direction direction : store_.recipe().quantised) await(b, direction);
  }
}

void Gathers::derive(const Weight& weight) {
  const auto parameter = static_cast<std::size_t>(weight.parameter);
  if (!store_.recipe().derives_column || has_column_copy_[parameter]) return;
  has_column_copy_[parameter] = true;
  const DeriveColumnCopy derive{store_.block_copy(weight, Direction::row)};
  job_.build.op(derive, job_.why(Purpose::weights, weight.parameter), Stream::compute, job_.all_ranks);
  job_.build.on(weight.row.codes).on(weight.row.scales).on(weight.column.codes).on(weight.column.scales);
}

void Gathers::discard(const Weight& weight) {
  const auto parameter = static_cast<std::size_t>(weight.parameter);
  if (!has_column_copy_[parameter]) return;
  has_column_copy_[parameter] = false;
  for (const View view : {weight.column.codes, weight.column.scales})
    job_.build.op(Undefine{}, job_.why(Purpose::weights, weight.parameter), Stream::compute, job_.all_ranks)
        .on(view);
}

void Gathers::reshard(std::size_t b) {
  if (!store_.is_sharded(b)) return;
  for (const Direction direction : store_.recipe().quantised) {
    if (!state(b, direction).is_whole) continue;
    job_.take(Row::reshard);
    await(b, direction);
    state(b, direction).is_whole = false;
    if (store_.is_copied_out(b))
      each_weight(b, [&](const Weight& weight) { undefine_whole(weight, direction); });
    else
      undefine_rest(b, direction);
  }
}

void Gathers::forget() {
  settle();
  for (const Weight& weight : store_.weights()) {
    discard(weight);
    for (const Direction direction : store_.recipe().quantised) undefine_whole(weight, direction);
  }
  invalidate();
}

void Gathers::undefine_whole(const Weight& weight, Direction direction) {
  job_.build.op(Undefine{}, job_.why(Purpose::weights, weight.parameter), Stream::compute, job_.all_ranks)
      .on(weight.copy(direction).codes);
}

void Gathers::undefine_rest(std::size_t b, Direction direction) {
  const OwnerBucket& bucket = job_.geometry.buckets[b];
  const BucketViews views{bucket, store_.bucket_codes(b, direction)};
  const auto ranks = job_.reduction_ranks(bucket);
  const View whole = views.whole;
  const auto slice_at = [&](std::int32_t i) {
    return views.slice(job_.slice_of(ranks[static_cast<std::size_t>(i)], bucket.expert));
  };
  const auto undefine = [&](auto view_of) {
    job_.build.op(Undefine{}, job_.why(Purpose::weights), Stream::compute, ranks).on_each(view_of);
  };
  undefine([&](std::int32_t i) {
    return View{whole.buffer, whole.offset, slice_at(i).offset - whole.offset};
  });
  undefine([&](std::int32_t i) {
    const std::int64_t end = slice_at(i).offset + bucket.slice();
    return View{whole.buffer, end, whole.offset + whole.numel - end};
  });
}

}  // namespace shardcheck
