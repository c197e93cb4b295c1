// Owners whose destination is a temporary lease of a recycled slot: Megatron-FSDP v1 with sharded gradients,
// Megatron-FSDP v2, FSDP2, DeepSpeed ZeRO-2 and ZeRO-3 (wgrad 3.3 to 3.6, 3.8, 3.9). A bucket is reduced in
// every microbatch, or under FSDP2 where the user says so, and accumulated onto a persistent shard. A lease
// begins with undefined bytes; ranges that nobody wrote are zero-filled before the reduction. Buckets are
// laid out for all parameters that ever train: one that has not thawed yet keeps its place, is zero-filled
// there and not waited for. With offload, shards and masters lie in memory of the host, so that what is
// accumulated moves there before its lease is returned (edge E14 of wgrad 6.2).
#include <algorithm>

#include "sim/owners/owner.h"
#include "sim/owners/reduction.h"

namespace shardcheck {
namespace {

class LeaseOwner : public Owner {
 public:
  explicit LeaseOwner(Job& job) : job_(job) {}

  void setup() override {
    const Scenario& s = job_.scenario;
    Plan& plan = job_.planned.plan;
    for (const OwnerBucket& bucket : job_.geometry.buckets) {
      const std::string number = std::to_string(shards_.size());
      shards_.push_back(
          allocate_for_consumer("shard." + number, BufferRole::shard, s.main_grad, bucket.slice()));
      place(bucket, shards_.back());
      if (has_partials()) {
        partials_.push_back(job_.allocate("partial." + number, BufferRole::shard, s.comm, bucket.slice()));
        place_slices(bucket, partials_.back());
      }
      const std::int64_t owned = outer_part(s, {{}, 0, bucket.slice()}, Rank{0}).numel;
      const BufferId master =
          allocate_for_consumer("master." + number, BufferRole::master, DType::f32, owned);
      job_.build.op(Fill{0}, job_.why(Purpose::setup), Stream::compute, job_.all_ranks)
          .on(job_.build.whole(master));
      job_.masters.push_back(master);
      slot_numel_ = std::max(slot_numel_, bucket.numel());
      plan.buckets.emplace_back();
      append_placements(bucket, 0, bucket.numel(), {BufferId{-1}, 0, bucket.numel()}, Rank{-1},
                        plan.buckets.back());
    }
    leases_.resize(job_.geometry.buckets.size());
    for (std::int32_t i = 0; i < s.stages * s.slots; ++i) add_slot(i / s.slots);
  }

  void begin_step() override {
    const bool fills = zeroes(job_.scenario);
    job_.take(fills ? Row::zero : Row::replace);
    const bool is_again = job_.attempt > 0;
    if (fills && !(is_again && job_.lapse == Lapse::zeroes_once)) {
      for (std::size_t b = 0; b < shards_.size(); ++b) {
        const auto ranks = job_.ranks_of_stage(job_.geometry.buckets[b].stage);
        job_.build.op(Fill{0}, job_.why(Purpose::zero), Stream::compute, ranks)
            .on(job_.build.whole(shards_[b]));
      }
    }
    for (Rank rank : job_.all_ranks) {
      for (std::size_t p = 0; p < job_.scenario.parameters.size(); ++p) {
        job_.host(rank, static_cast<std::int32_t>(p)).armed =
            job_.lapse != Lapse::arms_once || job_.step == job_.first_step;
        job_.host(rank, static_cast<std::int32_t>(p)).added = false;
      }
    }
    if (is_again && job_.lapse == Lapse::keeps_sums) return;
    has_sum_.assign(shards_.size(), fills);
    has_partial_sum_.assign(partials_.size(), false);
  }

  void unshard(std::int32_t unit) override {
    if (has_reference_hooks(job_.scenario.write_mode)) return;
    job_.take(Row::rewrite_flags);
    for (std::size_t p = 0; p < job_.scenario.parameters.size(); ++p) {
      const ScenarioParameter& parameter = job_.scenario.parameters[p];
      if (parameter.unit == unit && parameter.trainable) rewrite_flags(static_cast<std::int32_t>(p));
    }
  }

  std::vector<Piece> acquire(std::int32_t parameter) override {
    const auto b = static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
    if (leases_[b].slot < 0 || leases_[b].completed) open(b);
    const BufferId slot = slots_[static_cast<std::size_t>(leases_[b].slot)].buffer;
    std::vector<Piece> pieces;
    for (const Member& member : job_.geometry.pieces_of[static_cast<std::size_t>(parameter)])
      pieces.push_back({{slot, member.lo, member.hi - member.lo}, member.first});
    return pieces;
  }

  void parameter_done(std::int32_t parameter) override {
    const auto b = static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
    ++leases_[b].done;
    if (!reduces_now()) return;
    count_ready(job_, parameter);
    if (leases_[b].done != job_.awaited(job_.geometry.buckets[b])) return;
    job_.take(Row::launch);
    complete(b);
  }

  void end_backward(bool) override {
    for (std::size_t b = 0; b < leases_.size(); ++b) {
      if (!reduces_now()) {
        leases_[b].done = 0;
        continue;
      }
      if (!leases_[b].completed) {
        job_.take(Row::launch_leftover);
        complete(b);
      }
      leases_[b] = Lease{};
    }
    if (!reduces_now()) return job_.take(Row::skip_sync);
    // Reductions are drained at the end of each backward (wgrad 3.4, notes).
    if (job_.scenario.overlap) job_.order(Stream::reduce, Stream::compute, job_.all_ranks);
    for (Slot& slot : slots_) slot.is_ordered = true;
  }

  void abort_step() override {
    for (std::size_t b = 0; b < leases_.size(); ++b) {
      Lease kept;
      if (job_.lapse == Lapse::keeps_counters) kept.done = leases_[b].done;
      const bool is_open = leases_[b].slot >= 0 && !leases_[b].completed;
      if (is_open && job_.lapse == Lapse::keeps_leases)
        kept.slot = leases_[b].slot;
      else if (is_open)
        close(b);
      leases_[b] = kept;
    }
    for (Slot& slot : slots_) slot.is_ordered = true;
  }

  void resume() override {
    for (Slot& slot : slots_) slot = {.buffer = slot.buffer, .stage = slot.stage};
    leases_.assign(leases_.size(), {});
  }

  void finish() override {
    std::vector<HandOver> hand_overs;
    for (std::size_t b = 0; b < shards_.size(); ++b) hand_overs.push_back(hand_over(b));
    finish_step(job_, hand_overs);
  }

 private:
  struct Slot {
    BufferId buffer;
    std::int32_t stage = 0;  // whose buckets lie in it
    bool is_open = false;
    bool is_used = false;     // by an earlier lease
    bool is_ordered = true;   // the compute stream runs after its last reader
    std::int64_t closed = 0;  // when, so that slots take turns
    EventId released{-1};
  };
  struct Lease {
    std::int32_t slot = -1;
    std::int64_t done = 0;  // parameters whose hook has run
    bool completed = false;
  };

  Stream reduction_stream() const { return job_.scenario.overlap ? Stream::reduce : Stream::compute; }

  bool is_last() const { return job_.microbatch == job_.scenario.microbatches - 1; }
  bool reduces_now() const {
    if (job_.scenario.sync == Sync::every) return true;
    return is_last() && !(job_.lapse == Lapse::stays_unsynced && job_.step == 0);
  }
  /// FSDP2 keeps sums that only the outer groups still have to add in the type of the wire.
  bool has_partials() const {
    const Scenario& s = job_.scenario;
    return s.strategy == Strategy::fsdp2 && s.outer > 1 && s.outer_sync == Sync::last;
  }

  /// Where the optimizer runs.
  BufferId allocate_for_consumer(const std::string& name, BufferRole role, DType dtype, std::int64_t numel) {
    return job_.scenario.offload ? job_.allocate_on_host(name, role, dtype, numel)
                                 : job_.allocate(name, role, dtype, numel);
  }

  HandOver hand_over(std::size_t b) const {
    const View shard = job_.build.whole(shards_[b]);
    return {.bucket = job_.geometry.buckets[b],
            .scaled = shard,
            .owned = [this, shard](Rank rank) { return outer_part(job_.scenario, shard, rank); },
            .master = job_.build.whole(job_.masters[b])};
  }

  void add_slot(std::int32_t stage) {
    const std::string name = "slot." + std::to_string(slots_.size());
    const BufferId buffer = job_.allocate(name, BufferRole::lease_slot, job_.scenario.comm, slot_numel_);
    slots_.push_back({.buffer = buffer, .stage = stage});
  }

  /// The slot that was returned longest ago. The pool grows when every slot is lent, as a tied weight can
  /// hold one.
  std::size_t choose_slot(std::int32_t stage) {
    const auto longest = [&] {
      std::size_t best = slots_.size();
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].is_open || slots_[i].stage != stage) continue;
        if (best == slots_.size() || slots_[i].closed < slots_[best].closed) best = i;
      }
      return best;
    };
    if (longest() == slots_.size()) add_slot(stage);
    return longest();
  }

  void open(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const auto ranks = job_.ranks_of_stage(bucket.stage);
    const std::size_t chosen = choose_slot(bucket.stage);
    Slot& slot = slots_[chosen];
    job_.take(slot.is_used ? Row::open_recycled : Row::open);
    slot.is_open = slot.is_used = true;
    leases_[b].slot = static_cast<std::int32_t>(chosen);
    if (!slot.is_ordered) job_.build.op(Wait{slot.released}, job_.why(Purpose::none), Stream::compute, ranks);
    const View view{slot.buffer, 0, bucket.numel()};
    job_.build.op(OpenLease{static_cast<std::int32_t>(b)}, job_.why(Purpose::none), Stream::compute, ranks)
        .on(view);
    const bool zero_fills = job_.scenario.write_mode == WriteMode::r6;
    if (zero_fills) {
      job_.order(Stream::compute, reduction_stream(), ranks);
      job_.build.op(Fill{0}, job_.why(Purpose::zero), reduction_stream(), ranks).on(view);
      job_.order(reduction_stream(), Stream::compute, ranks);
    }
    forget_touches(bucket, zero_fills);
  }

  /// Nobody wants what is in the lease.
  void close(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    Slot& slot = slots_[static_cast<std::size_t>(leases_[b].slot)];
    const auto ranks = job_.reduction_ranks(bucket);
    job_.build.op(CloseLease{}, job_.why(Purpose::none), Stream::compute, ranks)
        .on({slot.buffer, 0, bucket.numel()});
    release(slot, Stream::compute, ranks);
  }

  /// All contributions of the bucket are in its lease: zero-fill the rest, reduce, accumulate, return the
  /// slot.
  void complete(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    if (leases_[b].slot < 0) open(b);
    Slot& slot = slots_[static_cast<std::size_t>(leases_[b].slot)];
    for (const Member& member : bucket.members) zero_untouched(member, slot.buffer);
    const auto ranks = job_.reduction_ranks(bucket);
    const Stream stream = reduction_stream();
    const BucketViews views{bucket, {slot.buffer, 0, bucket.numel()}};
    job_.order(Stream::compute, stream, ranks);
    job_.await_replays(bucket.parameters, stream);
    scale_and_reduce(job_, views, stream);
    collect(b, [&](Rank rank) { return views.slice(job_.slice_of(rank, bucket.expert)); });
    job_.build.op(CloseLease{}, job_.why(Purpose::none), stream, ranks).on(views.whole);
    release(slot, stream, ranks);
    leases_[b].completed = true;
    forget_touches(bucket, false);
  }

  /// What the group has reduced, on each rank its slice, goes onto the shard; before or after that the outer
  /// groups add what they have.
  void collect(std::size_t b, const RankView& reduced) {
    const View shard = job_.build.whole(shards_[b]);
    const auto everywhere = [](View view) { return [view](Rank) { return view; }; };
    if (job_.scenario.outer == 1) return accumulate(b, reduced, shard, has_sum_);
    const Stream stream = reduction_stream();
    if (job_.scenario.outer_sync == Sync::every) {
      job_.take(Row::outer_every);
      reduce_outer(job_, job_.geometry.buckets[b], reduced, stream);
      return accumulate(b, reduced, shard, has_sum_);
    }
    const View running = has_partials() ? job_.build.whole(partials_[b]) : shard;
    accumulate(b, reduced, running, has_partials() ? has_partial_sum_ : has_sum_);
    if (!is_last()) return;
    job_.take(Row::outer);
    reduce_outer(job_, job_.geometry.buckets[b], everywhere(running), stream);
    if (has_partials()) accumulate(b, everywhere(running), shard, has_sum_);
  }

  /// The first sum of a step replaces what an accumulator held that nobody zeroed.
  void accumulate(std::size_t b, const RankView& from, View to, std::vector<bool>& has_sum) {
    const auto ranks = job_.reduction_ranks(job_.geometry.buckets[b]);
    if (job_.planned.plan.buffer(to.buffer).on_host) job_.take(Row::offload);
    if (has_sum[b]) {
      job_.take(Row::add);
      job_.build.op(Add{}, job_.why(Purpose::accumulate), reduction_stream(), ranks);
    } else {
      job_.build.op(Copy{}, job_.why(Purpose::accumulate), reduction_stream(), ranks);
    }
    job_.build.on_each([&](std::int32_t i) { return from(ranks[static_cast<std::size_t>(i)]); }).on(to);
    has_sum[b] = true;
  }

  void forget_touches(const OwnerBucket& bucket, bool known_zero) {
    for (const std::int32_t parameter : bucket.parameters) {  // one without elements has no member
      for (Rank rank : job_.all_ranks) {
        job_.host(rank, parameter).touched = false;
        job_.host(rank, parameter).known_zero = known_zero;
      }
    }
  }

  void release(Slot& slot, Stream stream, std::span<const Rank> ranks) {
    slot.is_open = false;
    slot.closed = ++closings_;
    slot.is_ordered = stream == Stream::compute;
    if (slot.is_ordered) return;
    slot.released = job_.build.event();
    job_.build.op(Record{slot.released}, job_.why(Purpose::none), stream, ranks);
  }

  void zero_untouched(const Member& member, BufferId slot) {
    std::vector<Rank> ranks;
    for (Rank rank : job_.ranks_of(member.parameter)) {
      const HostState& host = job_.host(rank, member.parameter);
      if (!host.touched && !host.known_zero) ranks.push_back(rank);
    }
    if (ranks.empty() || member.hi == member.lo) return;
    job_.take(Row::fill_silent);
    job_.build.op(Fill{0}, job_.why(Purpose::zero, member.parameter), Stream::compute, ranks)
        .on({slot, member.lo, member.hi - member.lo});
  }

  /// overwrite := True by the name of the strategy, added := False whatever was written (wgrad 3.4).
  void rewrite_flags(std::int32_t parameter) {
    bool lowered = false;
    const auto ranks = job_.ranks_of(parameter);
    for (Rank rank : ranks) {
      HostState& host = job_.host(rank, parameter);
      lowered |= host.added;
      host.added = false;
      host.overwrite = true;
    }
    if (lowered) job_.build.op(Flag{false}, job_.why(Purpose::none, parameter), Stream::compute, ranks);
  }

  void place(const OwnerBucket& bucket, BufferId shard) {
    Plan& plan = job_.planned.plan;
    place_slices(bucket, shard);
    for (Rank rank : job_.reduction_ranks(bucket)) {
      const View own = outer_part(job_.scenario, {shard, 0, bucket.slice()}, rank);
      const std::int64_t lo = job_.slice_of(rank, bucket.expert) * bucket.slice() + own.offset;
      append_placements(bucket, lo, lo + own.numel, own, rank, plan.owned);
    }
  }

  void place_slices(const OwnerBucket& bucket, BufferId buffer) {
    const View slice{buffer, 0, bucket.slice()};
    for (Rank rank : job_.reduction_ranks(bucket)) {
      const std::int64_t lo = job_.slice_of(rank, bucket.expert) * bucket.slice();
      append_placements(bucket, lo, lo + bucket.slice(), slice, rank, job_.planned.plan.placements);
    }
  }

  Job& job_;
  std::vector<BufferId> shards_;    // a bucket
  std::vector<BufferId> partials_;  // a bucket, FSDP2 with outer groups: sums that these have not added yet
  std::vector<Lease> leases_;       // a bucket, in this backward
  std::vector<bool> has_sum_;       // a bucket: its shard may be added to in this step
  std::vector<bool> has_partial_sum_;  // the same for partials
  std::vector<Slot> slots_;
  std::int64_t slot_numel_ = 0, closings_ = 0;
};

}  // namespace

std::unique_ptr<Owner> make_lease_owner(Job& job) {
  return std::make_unique<LeaseOwner>(job);
}

}  // namespace shardcheck
