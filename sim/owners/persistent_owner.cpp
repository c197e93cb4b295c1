// Owners that keep one gradient buffer for the whole step: Megatron DDP, DDP with the distributed optimizer,
// Megatron-FSDP v1 without gradient sharding and DeepSpeed ZeRO-1 (wgrad 3.1, 3.2, 3.4 persistent strategies,
// 3.7). Microbatches are added locally; each bucket is reduced once, in the last one. Buckets are laid out
// for all parameters that ever train: one that has not thawed yet keeps its place in the bucket, which is
// zero there, and is not waited for.
#include <fmt/format.h>

#include <algorithm>

#include "sim/owners/owner.h"
#include "sim/owners/reduction.h"

namespace shardcheck {
namespace {

class PersistentOwner : public Owner {
 public:
  explicit PersistentOwner(Job& job) : job_(job) {}

  void setup() override {
    const Scenario& s = job_.scenario;
    for (std::size_t f = 0; f < job_.geometry.flat_sizes.size(); ++f) {
      const std::int64_t size = job_.geometry.flat_sizes[f];
      const std::string number = job_.geometry.flat_sizes.size() == 1 ? "" : fmt::format(".{}", f);
      main_.push_back(job_.allocate("main_grad" + number, BufferRole::main_grad, s.main_grad, size));
      if (is_staged()) staging_.push_back(job_.allocate("comm" + number, BufferRole::staging, s.comm, size));
      if (s.staging)
        weights_.push_back(job_.allocate("weights" + number, BufferRole::weights, s.main_grad, size));
    }
    for (const OwnerBucket& bucket : job_.geometry.buckets) {
      const std::int64_t owned = shards_gradient(s.strategy) ? bucket.slice() : bucket.numel();
      const BufferId master = job_.allocate("master." + std::to_string(job_.masters.size()),
                                            BufferRole::master, DType::f32, owned);
      job_.build.op(Fill{0}, job_.why(Purpose::setup), Stream::compute, job_.all_ranks)
          .on(job_.build.whole(master));
      job_.masters.push_back(master);
      place(bucket);
    }
    launched_.assign(job_.geometry.buckets.size(), false);
    remaining_.resize(job_.geometry.buckets.size());
    end_backward(false);
  }

  void begin_step() override {
    const Scenario& s = job_.scenario;
    const bool fills = zeroes(s) && s.write_mode != WriteMode::r4;
    const bool is_again = job_.attempt > 0;
    if (fills) job_.take(Row::zero);
    if (replaces_first(s.strategy)) job_.take(Row::replace);
    const bool emits = fills && !(is_again && job_.lapse == Lapse::zeroes_once);
    for (std::size_t f = 0; emits && f < main_.size(); ++f) {
      const auto ranks = job_.ranks_of_stage(job_.geometry.flat_stages[f]);
      job_.build.op(Fill{0}, job_.why(Purpose::zero), Stream::compute, ranks).on(job_.build.whole(main_[f]));
    }
    if (s.staging) gather_weights();
    for (Rank rank : job_.all_ranks) {
      for (std::size_t p = 0; p < s.parameters.size(); ++p) {
        HostState& host = job_.host(rank, static_cast<std::int32_t>(p));
        host.added = false;
        if (!is_again || job_.lapse != Lapse::keeps_touches) host.touched = false;
        host.known_zero = fills;
        host.armed = job_.lapse != Lapse::arms_once || job_.step == job_.first_step;
      }
    }
    std::fill(launched_.begin(), launched_.end(), false);
    if (!is_again || job_.lapse != Lapse::keeps_counters) end_backward(false);
  }

  void unshard(std::int32_t unit) override {
    const Scenario& s = job_.scenario;
    // Megatron-FSDP "no_shard" returns early; "optim" rewrites the flags (wgrad 3.4).
    if (s.strategy != Strategy::fsdp_optim || has_reference_hooks(s.write_mode)) return;
    job_.take(Row::rewrite_flags);
    for (std::size_t p = 0; p < s.parameters.size(); ++p) {
      if (s.parameters[p].unit != unit || !s.parameters[p].trainable) continue;
      const auto parameter = static_cast<std::int32_t>(p);
      bool lowered = false;
      for (Rank rank : job_.ranks_of(parameter)) {
        lowered |= job_.host(rank, parameter).added;
        job_.host(rank, parameter).added = false;
        job_.host(rank, parameter).overwrite = false;
      }
      if (lowered)
        job_.build.op(Flag{false}, job_.why(Purpose::none, parameter), Stream::compute,
                      job_.ranks_of(parameter));
    }
  }

  std::vector<Piece> acquire(std::int32_t parameter) override {
    const OwnerBucket& bucket = job_.bucket_of(parameter);
    const BufferId main = main_[static_cast<std::size_t>(bucket.flat)];
    std::vector<Piece> pieces;
    for (const Member& member : job_.geometry.pieces_of[static_cast<std::size_t>(parameter)])
      pieces.push_back({{main, bucket.lo + member.lo, member.hi - member.lo}, member.first});
    return pieces;
  }

  void parameter_done(std::int32_t parameter) override {
    const auto b = static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
    --remaining_[b];
    // In its first step DDP learns how often hooks fire, and reduces in finish (wgrad 3.1, fact ii). So does
    // the process that goes on after another.
    const bool learned = !is_megatron_ddp(job_.scenario.strategy) || job_.step > job_.first_step;
    const bool last = job_.microbatch == job_.scenario.microbatches - 1;
    if (last) count_ready(job_, parameter);
    if (remaining_[b] != 0 || !last || !learned || !job_.scenario.overlap) return;
    job_.take(Row::launch);
    launch(b, Stream::reduce);
  }

  void end_backward(bool) override {
    for (std::size_t b = 0; b < remaining_.size(); ++b)
      remaining_[b] = job_.awaited(job_.geometry.buckets[b]);
  }

  void abort_step() override {
    if (job_.lapse != Lapse::keeps_counters) end_backward(false);
  }
  void resume() override { end_backward(false); }

  void finish() override {
    bool in_flight = false;
    for (std::size_t b = 0; b < launched_.size(); ++b) {
      if (launched_[b]) in_flight = true;
    }
    if (in_flight) job_.order(Stream::reduce, Stream::compute, job_.all_ranks);
    for (std::size_t b = 0; b < launched_.size(); ++b) {
      if (launched_[b]) continue;
      job_.take(Row::launch_in_finish);
      launch(b, Stream::compute);
    }
    std::vector<HandOver> hand_overs;
    for (std::size_t b = 0; b < launched_.size(); ++b) hand_overs.push_back(hand_over(b));
    finish_step(job_, hand_overs);
  }

 private:
  bool is_staged() const { return job_.scenario.comm != job_.scenario.main_grad; }

  View range_of(std::size_t b, const std::vector<BufferId>& flats) const {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    return {flats[static_cast<std::size_t>(bucket.flat)], bucket.lo, bucket.numel()};
  }

  /// What the rank owns of a bucket's range in `view`.
  View owned(const OwnerBucket& bucket, View view, Rank rank) const {
    if (!shards_gradient(job_.scenario.strategy)) return view;
    return BucketViews{bucket, view}.slice(job_.slice_of(rank, bucket.expert));
  }

  HandOver hand_over(std::size_t b) const {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const View main = range_of(b, main_);
    return {.bucket = bucket,
            .scaled = main,
            .owned = [this, &bucket, main](Rank rank) { return owned(bucket, main, rank); },
            .master = job_.build.whole(job_.masters[b])};
  }

  /// A bucket in a narrower or wider type travels through a communication buffer.
  void launch(std::size_t b, Stream stream) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const auto ranks = job_.reduction_ranks(bucket);
    launched_[b] = true;
    const View main = range_of(b, main_);
    if (replaces_first(job_.scenario.strategy)) fill_silent(bucket, main);
    job_.order(Stream::compute, stream, ranks);
    job_.await_replays(bucket.parameters, stream);
    if (!is_staged()) return reduce({bucket, main}, stream);
    job_.take(Row::stage);
    const View comm = range_of(b, staging_);
    job_.build.op(Copy{}, job_.why(Purpose::stage), stream, ranks).on(main).on(comm);
    reduce({bucket, comm}, stream);
    job_.build.op(Copy{}, job_.why(Purpose::unstage), stream, ranks).on(comm).on(main);
  }

  void reduce(const BucketViews& views, Stream stream) {
    scale_and_reduce(job_, views, stream);
    if (job_.scenario.outer == 1) return;
    job_.take(Row::outer);
    reduce_outer(
        job_, views.bucket, [&](Rank rank) { return owned(views.bucket, views.whole, rank); }, stream);
  }

  /// The zeroed gradient buffer stages the weights (wgrad 6.4): each rank's slice of the masters, the gather,
  /// the copy out, and zeros again before the first write.
  void gather_weights() {
    job_.take(Row::stage_weights);
    const Why why = job_.why(Purpose::weights);
    std::vector<EventId> gathered;
    for (std::size_t b = 0; b < launched_.size(); ++b) gathered.push_back(gather_bucket(b));
    for (std::size_t b = 0; b < launched_.size(); ++b) {
      const auto ranks = job_.reduction_ranks(job_.geometry.buckets[b]);
      const View main = range_of(b, main_);
      if (gathered[b].value >= 0)
        job_.build.op(Wait{gathered[b]}, job_.why(Purpose::none), Stream::compute, ranks);
      job_.build.op(Copy{}, why, Stream::compute, ranks).on(main).on(range_of(b, weights_));
      job_.build.op(Fill{0}, job_.why(Purpose::zero), Stream::compute, ranks).on(main);
    }
  }

  /// The slices of one bucket come in and are gathered, with overlap on the stream of the collectives; the
  /// event says when they are there, -1 where nobody has to wait for it.
  EventId gather_bucket(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const auto ranks = job_.reduction_ranks(bucket);
    const View main = range_of(b, main_);
    const Why why = job_.why(Purpose::weights);
    const auto slice_at = [&](std::int32_t i) {
      return owned(bucket, main, ranks[static_cast<std::size_t>(i)]);
    };
    job_.build.op(Copy{}, why, Stream::compute, ranks).on(job_.build.whole(job_.masters[b]));
    job_.build.on_each(slice_at);
    if (bucket.group == 1) return EventId{-1};
    const Stream stream = job_.scenario.overlap ? Stream::reduce : Stream::compute;
    job_.order(Stream::compute, stream, ranks);
    const Communicate gather{Collective::all_gather, Reduction::sum, bucket.group};
    job_.build.op(gather, why, stream, ranks).on_each(slice_at).on(main);
    if (stream == Stream::compute) return EventId{-1};
    const EventId event = job_.build.event();
    job_.build.op(Record{event}, job_.why(Purpose::none), stream, ranks);
    return event;
  }

  /// Without zeroing, what nobody touched in this step holds the sums of an earlier one.
  void fill_silent(const OwnerBucket& bucket, View main) {
    for (const Member& member : bucket.members) {
      std::vector<Rank> ranks;
      for (Rank rank : job_.ranks_of(member.parameter)) {
        if (!job_.host(rank, member.parameter).touched) ranks.push_back(rank);
      }
      if (ranks.empty()) continue;
      job_.take(Row::fill_silent);
      job_.build.op(Fill{0}, job_.why(Purpose::zero, member.parameter), Stream::compute, ranks)
          .on({main.buffer, main.offset + member.lo, member.hi - member.lo});
    }
  }

  /// Says where the bucket's parameters lie and which part each rank owns.
  void place(const OwnerBucket& bucket) {
    Plan& plan = job_.planned.plan;
    const auto flat = static_cast<std::size_t>(bucket.flat);
    const View whole{main_[flat], bucket.lo, bucket.numel()};
    const auto ranks = job_.reduction_ranks(bucket);
    const Rank everywhere[] = {Rank{-1}};
    for (Rank rank : bucket.shards > 1 ? ranks : std::span<const Rank>(everywhere)) {
      append_placements(bucket, 0, bucket.numel(), whole, rank, plan.placements);
      if (!is_staged()) continue;
      append_placements(bucket, 0, bucket.numel(), {staging_[flat], bucket.lo, bucket.numel()}, rank,
                        plan.placements);
    }
    for (Rank rank : ranks) {
      const View own = owned(bucket, whole, rank);
      append_placements(bucket, own.offset - bucket.lo, own.offset - bucket.lo + own.numel, own, rank,
                        plan.owned);
    }
  }

  Job& job_;
  std::vector<BufferId> main_, staging_, weights_;  // a flat buffer
  std::vector<bool> launched_;                      // a bucket: reduced in this step
  std::vector<std::int64_t> remaining_;  // a bucket: parameters whose hook is still to come in this backward
};

}  // namespace

std::unique_ptr<Owner> make_persistent_owner(Job& job) {
  return std::make_unique<PersistentOwner>(job);
}

}  // namespace shardcheck
