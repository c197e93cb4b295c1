// Megatron-FSDP v1 with sharded gradients (wgrad 3.4, sharded strategies): a bucket's destination is a
// temporary lease of a recycled slot, reduced in every microbatch and accumulated onto a persistent shard. A
// lease begins with undefined bytes; ranges that nobody wrote are zero-filled before the reduction.
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
      shards_.push_back(job_.allocate("shard." + number, BufferRole::shard, s.main_grad, bucket.slice()));
      const BufferId master =
          job_.allocate("master." + number, BufferRole::master, DType::f32, bucket.slice());
      job_.build.op(Fill{0}, job_.why(Purpose::setup), Stream::compute, job_.all_ranks)
          .on(job_.build.whole(master));
      job_.masters.push_back(master);
      slot_numel_ = std::max(slot_numel_, bucket.numel());
      plan.buckets.emplace_back();
      append_placements(bucket, 0, bucket.numel(), {BufferId{-1}, 0, bucket.numel()}, Rank{-1},
                        plan.buckets.back());
      place(bucket, shards_.back());
    }
    leases_.resize(job_.geometry.buckets.size());
    for (std::int32_t i = 0; i < s.slots; ++i) add_slot();
  }

  void begin_step() override {
    if (job_.scenario.zeroing) {
      for (BufferId shard : shards_) {
        job_.build.op(Fill{0}, job_.why(Purpose::zero), Stream::compute, job_.all_ranks)
            .on(job_.build.whole(shard));
      }
    }
    for (Rank rank : job_.all_ranks) {
      for (std::size_t p = 0; p < job_.scenario.parameters.size(); ++p) {
        job_.host(rank, static_cast<std::int32_t>(p)).armed = true;
        job_.host(rank, static_cast<std::int32_t>(p)).added = false;
      }
    }
    accumulated_.assign(shards_.size(), job_.scenario.zeroing);
  }

  void unshard(std::int32_t unit) override {
    if (has_reference_hooks(job_.scenario.write_mode)) return;
    for (std::size_t p = 0; p < job_.scenario.parameters.size(); ++p) {
      const ScenarioParameter& parameter = job_.scenario.parameters[p];
      if (parameter.unit == unit && parameter.trainable) rewrite_flags(static_cast<std::int32_t>(p));
    }
  }

  View acquire(std::int32_t parameter) override {
    const auto b = static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
    if (leases_[b].slot < 0) open(b);
    const Member& member = job_.geometry.place_of[static_cast<std::size_t>(parameter)];
    return {slots_[static_cast<std::size_t>(leases_[b].slot)].buffer, member.lo, member.hi - member.lo};
  }

  void parameter_done(std::int32_t parameter) override {
    const auto b = static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
    if (++leases_[b].done == std::ssize(job_.geometry.buckets[b].members)) complete(b);
  }

  void end_backward(bool) override {
    for (std::size_t b = 0; b < leases_.size(); ++b) {
      if (!leases_[b].completed) complete(b);
    }
    for (Lease& lease : leases_) lease = Lease{};
    // Reductions are drained at the end of each backward (wgrad 3.4, notes).
    if (job_.scenario.overlap) job_.order(Stream::reduce, Stream::compute, job_.all_ranks);
    for (Slot& slot : slots_) slot.is_ordered = true;
  }

  void finish() override {
    const auto buckets = job_.geometry.buckets.size();
    for (std::size_t b = 0; b < buckets; ++b) scale_late(job_, hand_over(b));
    for (std::size_t b = 0; b < buckets; ++b) finish_bucket(job_, hand_over(b));
    job_.planned.finishes.push_back(OpIndex{static_cast<std::int32_t>(job_.planned.plan.ops.size())});
    for (std::size_t b = 0; b < buckets; ++b) consume_bucket(job_, hand_over(b));
  }

 private:
  struct Slot {
    BufferId buffer;
    bool is_open = false;
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

  HandOver hand_over(std::size_t b) const {
    return {.bucket = job_.geometry.buckets[b],
            .scaled = job_.build.whole(shards_[b]),
            .sliced = false,
            .master = job_.build.whole(job_.masters[b])};
  }

  void add_slot() {
    const std::string name = "slot." + std::to_string(slots_.size());
    slots_.push_back(
        {.buffer = job_.allocate(name, BufferRole::lease_slot, job_.scenario.comm, slot_numel_)});
  }

  /// The slot that was returned longest ago. The pool grows when every slot is lent, as a tied weight can
  /// hold one.
  std::size_t choose_slot() {
    const auto longest = [&] {
      std::size_t best = slots_.size();
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i].is_open && (best == slots_.size() || slots_[i].closed < slots_[best].closed)) best = i;
      }
      return best;
    };
    if (longest() == slots_.size()) add_slot();
    return longest();
  }

  void open(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    const std::size_t chosen = choose_slot();
    Slot& slot = slots_[chosen];
    slot.is_open = true;
    leases_[b].slot = static_cast<std::int32_t>(chosen);
    if (!slot.is_ordered)
      job_.build.op(Wait{slot.released}, job_.why(Purpose::none), Stream::compute, job_.all_ranks);
    const View view{slot.buffer, 0, bucket.numel()};
    job_.build
        .op(OpenLease{static_cast<std::int32_t>(b)}, job_.why(Purpose::none), Stream::compute, job_.all_ranks)
        .on(view);
    const bool zero_fills = job_.scenario.write_mode == WriteMode::r6;
    if (zero_fills) {
      job_.order(Stream::compute, reduction_stream(), job_.all_ranks);
      job_.build.op(Fill{0}, job_.why(Purpose::zero), reduction_stream(), job_.all_ranks).on(view);
      job_.order(reduction_stream(), Stream::compute, job_.all_ranks);
    }
    forget_touches(bucket, zero_fills);
  }

  /// All contributions of the bucket are in its lease: zero-fill the rest, reduce, accumulate, return the
  /// slot.
  void complete(std::size_t b) {
    const OwnerBucket& bucket = job_.geometry.buckets[b];
    if (leases_[b].slot < 0) open(b);
    Slot& slot = slots_[static_cast<std::size_t>(leases_[b].slot)];
    for (const Member& member : bucket.members) zero_untouched(member, slot.buffer);
    const auto ranks = job_.reduction_ranks(bucket.expert);
    const Stream stream = reduction_stream();
    const BucketViews views{bucket, {slot.buffer, 0, bucket.numel()}};
    job_.order(Stream::compute, stream, ranks);
    scale_and_reduce(job_, views, stream);
    // Without zeroing, the first reduced gradient of a step replaces what the shard held.
    const bool adds = accumulated_[b];
    accumulated_[b] = true;
    if (adds)
      job_.build.op(Add{}, job_.why(Purpose::accumulate), stream, ranks);
    else
      job_.build.op(Copy{}, job_.why(Purpose::accumulate), stream, ranks);
    job_.build.on_each([&](std::int32_t i) { return views.slice(i); }).on(job_.build.whole(shards_[b]));
    job_.build.op(CloseLease{}, job_.why(Purpose::none), stream, ranks).on(views.whole);
    release(slot, stream, ranks);
    leases_[b].completed = true;
    forget_touches(bucket, false);
  }

  void forget_touches(const OwnerBucket& bucket, bool known_zero) {
    for (const Member& member : bucket.members) {
      for (Rank rank : job_.all_ranks) {
        job_.host(rank, member.parameter).touched = false;
        job_.host(rank, member.parameter).known_zero = known_zero;
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
    for (Rank rank : job_.all_ranks) {
      const HostState& host = job_.host(rank, member.parameter);
      if (!host.touched && !host.known_zero) ranks.push_back(rank);
    }
    if (ranks.empty() || member.hi == member.lo) return;
    job_.build.op(Fill{0}, job_.why(Purpose::zero, member.parameter), Stream::compute, ranks)
        .on({slot, member.lo, member.hi - member.lo});
  }

  /// overwrite := True by the name of the strategy, added := False whatever was written (wgrad 3.4).
  void rewrite_flags(std::int32_t parameter) {
    bool lowered = false;
    for (Rank rank : job_.all_ranks) {
      HostState& host = job_.host(rank, parameter);
      lowered |= host.added;
      host.added = false;
      host.overwrite = true;
    }
    if (lowered)
      job_.build.op(Flag{false}, job_.why(Purpose::none, parameter), Stream::compute, job_.all_ranks);
  }

  void place(const OwnerBucket& bucket, BufferId shard) {
    Plan& plan = job_.planned.plan;
    const auto ranks = job_.reduction_ranks(bucket.expert);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::int64_t lo = (static_cast<std::int64_t>(i) % bucket.group) * bucket.slice();
      const View view{shard, 0, bucket.slice()};
      append_placements(bucket, lo, lo + bucket.slice(), view, ranks[i], plan.owned);
      append_placements(bucket, lo, lo + bucket.slice(), view, ranks[i], plan.placements);
    }
  }

  Job& job_;
  std::vector<BufferId> shards_;   // a bucket
  std::vector<Lease> leases_;      // a bucket, in this backward
  std::vector<bool> accumulated_;  // a bucket: its shard may be added to in this step
  std::vector<Slot> slots_;
  std::int64_t slot_numel_ = 0, closings_ = 0;
};

}  // namespace

std::unique_ptr<Owner> make_lease_owner(Job& job) {
  return std::make_unique<LeaseOwner>(job);
}

}  // namespace shardcheck
