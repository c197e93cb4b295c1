// Job: the simulated training job while it is being planned. It holds the plan under construction and the
// host state that today's frameworks keep as attributes on parameter objects; owners and producers read and
// change both. Next: sim/owners/owner.h, sim/producers/producer.h, sim/planner/planner.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/builder.h"
#include "sim/owners/geometry.h"
#include "sim/planner/lapse.h"
#include "sim/planner/planned.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Host state of one parameter on one rank.
struct HostState {
  bool added = false;        ///< grad_added_to_main_grad
  bool overwrite = false;    ///< overwrite_main_grad, set by an unshard
  bool touched = false;      ///< this lease, or this step of a persistent destination, has a contribution
  bool known_zero = false;   ///< zeroed, and nothing written since
  bool armed = false;        ///< is_first_microbatch is still True for the next call
  std::int32_t real = 0;     ///< real gradients that autograd holds for the hook
  std::int32_t dummies = 0;  ///< placeholders among them
};

class Job {
 public:
  explicit Job(const Scenario& scenario);

  const Scenario& scenario;
  const Geometry geometry;
  Planned planned;
  PlanBuilder build;
  std::vector<Rank> all_ranks;    ///< stage by stage
  std::vector<BufferId> masters;  ///< a bucket: its fp32 weights, a slice where the owner shards
  std::int32_t step = 0, microbatch = 0;
  std::int32_t first_step = 0;  ///< of the process that is running
  std::int32_t attempt = 0;     ///< at the step; the earlier ones were given up
  Lapse lapse = Lapse::none;

  HostState& host(Rank rank, std::int32_t parameter) {
    return host_[static_cast<std::size_t>(rank.value) * scenario.parameters.size() +
                 static_cast<std::size_t>(parameter)];
  }
  const ScenarioParameter& parameter(std::int32_t p) const {
    return scenario.parameters[static_cast<std::size_t>(p)];
  }
  const OwnerBucket& bucket_of(std::int32_t parameter) const {
    return geometry
        .buckets[static_cast<std::size_t>(geometry.bucket_of[static_cast<std::size_t>(parameter)])];
  }
  /// True when the parameter has fused and unfused uses, so that a placeholder meets a real gradient.
  bool is_mixed(std::int32_t parameter) const {
    const bool remembered = lapse != Lapse::loses_attributes || first_step == 0;
    return remembered && mixed_[static_cast<std::size_t>(parameter)];
  }
  /// Parameters of the bucket that its reduction waits for in this step: a frozen one keeps its place, and
  /// counts for nothing until it thaws; one without a hook is never counted, so that the reduction waits for
  /// the end of the backward or of the step.
  std::int64_t awaited(const OwnerBucket& bucket) const;
  /// Positions in scenario.uses of the parameter's uses.
  std::int32_t uses_of(std::int32_t parameter) const { return uses_[static_cast<std::size_t>(parameter)]; }

  /// The operands of a group of the use at that position, in this step and microbatch; an evaluation, which
  /// is in none, sees the first microbatch again.
  const InputSlot& input_of(std::int32_t position, std::int32_t group) const;

  Why why(Purpose purpose, std::int32_t parameter = -1, std::int32_t use = -1) const;

  /// What hosts knew is gone: the attempt is over, or the process.
  void forget();

  /// The owner takes this row of its state machine.
  void take(Row row) { planned.rows.set(static_cast<std::size_t>(row)); }

  /// The ranks of a pipeline stage.
  std::span<const Rank> ranks_of_stage(std::int32_t stage) const { return of_stage(all_ranks, stage); }
  /// The ranks that have the parameter.
  std::span<const Rank> ranks_of(std::int32_t p) const { return ranks_of_stage(parameter(p).stage); }

  /// The ranks of the bucket's stage, the members of each reduction group (inside one outer group) next to
  /// each other.
  std::span<const Rank> reduction_ranks(const OwnerBucket& bucket) const {
    return of_stage(bucket.expert ? expert_ranks_ : all_ranks, bucket.stage);
  }
  /// The same ranks, those with equal shards of different outer groups next to each other.
  std::span<const Rank> outer_ranks(const OwnerBucket& bucket) const {
    return of_stage(outer_ranks_, bucket.stage);
  }

  /// Which slice of a bucket is the rank's: its place in the reduction group.
  std::int32_t slice_of(Rank rank, bool expert) const {
    const std::int32_t inside = rank.value % (scenario.ranks / scenario.outer);
    return expert ? inside / coordinates(scenario) : inside;
  }

  /// Calls emit(key, ranks) for each group of `ranks` with equal key(rank), keys in order of first
  /// appearance.
  template <class Key, class Emit>
  void each_group(std::span<const Rank> ranks, Key key, Emit emit) const {
    if (ranks.empty()) return;
    const auto usual = key(ranks.front());
    if (std::ranges::all_of(ranks, [&](Rank rank) { return key(rank) == usual; })) return emit(usual, ranks);
    std::vector<Rank> rest(ranks.begin(), ranks.end()), group, others;
    while (!rest.empty()) {
      const auto wanted = key(rest.front());
      group.clear();
      others.clear();
      for (Rank rank : rest) (key(rank) == wanted ? group : others).push_back(rank);
      emit(wanted, std::span<const Rank>(group));
      rest.swap(others);
    }
  }

  /// An order between two streams: what `before` has been given so far happens before what `after` is given
  /// next.
  void order(Stream before, Stream after, std::span<const Rank> ranks);

  /// A replay on the graph stream has written the destination of the parameter on these ranks, and recorded
  /// `event`.
  void replayed(std::int32_t parameter, EventId event, std::span<const Rank> ranks);
  /// `stream` waits for the replays that have written the destinations of these parameters, where it has not
  /// done so already (edge E16 of wgrad 6.2).
  void await_replays(std::span<const std::int32_t> parameters, Stream stream);

  /// All gradient buffers are allocated anew by a process that goes on.
  void reallocate();

  /// Allocates a buffer on all ranks.
  BufferId allocate(std::string name, BufferRole role, DType dtype, std::int64_t numel);
  /// The same in memory of the host.
  BufferId allocate_on_host(std::string name, BufferRole role, DType dtype, std::int64_t numel);

 private:
  BufferId begin_life(BufferId id);
  std::span<const Rank> of_stage(const std::vector<Rank>& ranks, std::int32_t stage) const {
    const auto count = static_cast<std::size_t>(stage_size(scenario));
    return std::span(ranks).subspan(static_cast<std::size_t>(stage) * count, count);
  }

  /// The last replay that wrote a destination.
  struct Replay {
    EventId event{-1};
    std::array<bool, kStreams> awaited{};
  };

  std::vector<HostState> host_;
  std::vector<Replay> replays_;  // a rank and parameter
  std::vector<bool> mixed_;
  std::vector<std::int32_t> uses_;
  std::vector<std::int32_t> inputs_before_;       // a position: operands of earlier uses; last: of all
  std::vector<Rank> expert_ranks_, outer_ranks_;  // stage by stage
};

}  // namespace shardcheck
