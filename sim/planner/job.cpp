#include "sim/planner/job.h"

#include <algorithm>

namespace shardcheck {

Job::Job(const Scenario& s) : scenario(s), geometry(geometry_of(s)), build(planned.plan) {
  Plan& plan = planned.plan;
  plan.ranks = world_size(s);
  const auto parameters = s.parameters.size();
  for (const ScenarioParameter& p : s.parameters) {
    const auto index = static_cast<std::int32_t>(&p - s.parameters.data());
    const bool tied = tied_copy(s, index) >= 0;
    plan.parameters.push_back({p.name, p.rows(), p.columns(), p.trainable,
                               inner_size(s, has_coordinates(s, index)), s.outer, tied});
    plan.parameters.back().thaws_at = p.thaws_at;
    plan.parameters.back().tensor = p.sequence_parallel ? s.tensor : 1;
    plan.parameters.back().shards = is_distributed(s, index) ? s.gtp : 0;
    plan.parameters.back().hooked = has_hook(s, index) || is_distributed(s, index);
  }
  const std::int32_t world = world_size(s);
  for (std::int32_t r = 0; r < world; ++r) all_ranks.push_back(Rank{r});
  const std::int32_t inner = s.ranks / s.outer;
  for (std::int32_t begin = 0; begin < world; begin += inner) {
    for (std::int32_t first = 0; first < coordinates(s); ++first) {
      for (std::int32_t r = first; r < inner; r += coordinates(s)) expert_ranks_.push_back(Rank{begin + r});
    }
  }
  for (std::int32_t stage = 0; stage < world; stage += s.ranks) {
    for (std::int32_t i = 0; i < inner; ++i) {
      for (std::int32_t o = 0; o < s.outer; ++o) outer_ranks_.push_back(Rank{stage + o * inner + i});
    }
  }
  host_.resize(parameters * static_cast<std::size_t>(world));
  replays_.resize(host_.size());
  uses_.assign(parameters, 0);
  std::vector<bool> fused(parameters), unfused(parameters);
  inputs_before_.push_back(0);
  for (const ScenarioUse& use : s.uses) {
    const auto p = static_cast<std::size_t>(use.parameter);
    inputs_before_.push_back(inputs_before_.back() + s.parameters[p].groups);
    ++uses_[p];
    if (use.producer == Producer::unflagged) continue;
    (returns_gradient(use.producer, s.write_mode) ? unfused : fused)[p] = true;
  }
  mixed_.resize(parameters);
  for (std::size_t p = 0; p < parameters; ++p) mixed_[p] = fused[p] && unfused[p];
}

std::int64_t Job::awaited(const OwnerBucket& bucket) const {
  const std::int32_t of_step = lapse == Lapse::keeps_membership ? first_step : step;
  const auto is_waited_for = [&](std::int32_t p) {
    return is_trained(parameter(p), of_step) && (lapse != Lapse::counts_hooks || has_hook(scenario, p));
  };
  return std::ranges::count_if(bucket.parameters, is_waited_for);
}

void Job::forget() {
  for (HostState& host : host_) {
    HostState kept;
    if (lapse == Lapse::keeps_touches) kept.touched = host.touched;
    if (lapse == Lapse::keeps_gradients) kept.real = host.real;
    host = kept;
  }
}

const InputSlot& Job::input_of(std::int32_t position, std::int32_t group) const {
  const auto passes = static_cast<std::size_t>(step * scenario.microbatches + std::max(microbatch, 0));
  const auto before = static_cast<std::size_t>(inputs_before_[static_cast<std::size_t>(position)] + group);
  return planned.inputs[passes * static_cast<std::size_t>(inputs_before_.back()) + before];
}

Why Job::why(Purpose purpose, std::int32_t parameter, std::int32_t use) const {
  Why why{.purpose = purpose, .parameter = ParamId{parameter}};
  why.step = static_cast<std::int16_t>(step);
  why.microbatch = static_cast<std::int16_t>(microbatch);
  why.use = static_cast<std::int16_t>(use);
  return why;
}

void Job::order(Stream before, Stream after, std::span<const Rank> ranks) {
  if (before == after) return;
  const EventId event = build.event();
  build.op(Record{event}, why(Purpose::none), before, ranks);
  build.op(Wait{event}, why(Purpose::none), after, ranks);
}

void Job::replayed(std::int32_t parameter, EventId event, std::span<const Rank> ranks) {
  for (const Rank rank : ranks) {
    replays_[static_cast<std::size_t>(rank.value) * scenario.parameters.size() +
             static_cast<std::size_t>(parameter)] = {.event = event};
  }
}

void Job::await_replays(std::span<const std::int32_t> parameters, Stream stream) {
  for (const std::int32_t p : parameters) {
    const auto replay_on = [&](Rank rank) -> Replay& {
      return replays_[static_cast<std::size_t>(rank.value) * scenario.parameters.size() +
                      static_cast<std::size_t>(p)];
    };
    const auto pending_on = [&](Rank rank) {
      const Replay& replay = replay_on(rank);
      return replay.awaited[static_cast<std::size_t>(stream)] ? EventId{-1} : replay.event;
    };
    each_group(ranks_of(p), pending_on, [&](EventId event, std::span<const Rank> ranks) {
      if (event.value < 0) return;
      build.op(Wait{event}, why(Purpose::none, p), stream, ranks);
      for (const Rank rank : ranks) replay_on(rank).awaited[static_cast<std::size_t>(stream)] = true;
    });
  }
}

void Job::reallocate() {
  for (std::size_t b = 0; b < planned.plan.buffers.size(); ++b) {
    const BufferRole role = planned.plan.buffers[b].role;
    if (role < BufferRole::graph_inputs || role > BufferRole::placeholder) continue;
    begin_life(BufferId{static_cast<std::int32_t>(b)});
  }
}

BufferId Job::allocate(std::string name, BufferRole role, DType dtype, std::int64_t numel) {
  return begin_life(build.buffer(std::move(name), role, dtype, numel));
}

BufferId Job::allocate_on_host(std::string name, BufferRole role, DType dtype, std::int64_t numel) {
  return begin_life(build.buffer_on_host(std::move(name), role, dtype, numel));
}

BufferId Job::begin_life(BufferId id) {
  build.op(Allocate{}, why(Purpose::setup), Stream::compute, all_ranks).on(build.whole(id));
  return id;
}

}  // namespace shardcheck
