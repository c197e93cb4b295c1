#include "sim/producers/captured_uses.h"

#include <fmt/format.h>

#include "core/assert.h"

namespace shardcheck {

void CapturedUses::setup() {
  const Scenario& s = job_.scenario;
  if (s.execution != Execution::graph) return;
  uses_.resize(s.uses.size());
  for (std::size_t i = 0; i < s.uses.size(); ++i) {
    const ScenarioUse& use = s.uses[i];
    const ScenarioParameter& p = job_.parameter(use.parameter);
    const UseSite site{.position = static_cast<std::int32_t>(i), .producer = use.producer};
    if (!p.trainable || !has(site)) continue;
    // As far apart as the operands of the use are, and so aligned.
    const View first = inputs_of(job_, site, 0).x, last = inputs_of(job_, site, p.groups - 1).dy;
    const BufferId id = job_.allocate(fmt::format("graph_inputs.{}", i), BufferRole::graph_inputs, p.dtype,
                                      last.offset + last.numel - first.offset);
    for (std::int32_t group = 0; group < p.groups; ++group) {
      const InputViews from = inputs_of(job_, site, group);
      uses_[i].inputs.push_back({{id, from.x.offset - first.offset, from.x.numel},
                                 {id, from.dy.offset - first.offset, from.dy.numel}});
    }
    if (!is_unfused(use.producer, s.write_mode)) continue;
    const BufferId gradient =
        job_.allocate(fmt::format("{}.grad.graph.{}", p.name, i), BufferRole::param_grad, p.dtype, p.numel());
    uses_[i].gradient = job_.build.whole(gradient);
  }
  restart();
}

void CapturedUses::restart() {
  const auto world = static_cast<std::size_t>(world_size(job_.scenario));
  for (Captured& use : uses_) {
    use.id = GraphId{-1};
    use.baked.assign(world, 0);
    use.ended.assign(world, EventId{-1});
  }
}

bool CapturedUses::has(const UseSite& site) const {
  const bool is_captured = site.producer == Producer::fused || site.producer == Producer::unfused;
  return is_captured && job_.scenario.execution == Execution::graph;
}

Beta CapturedUses::baked(const UseSite& site, Rank rank, Beta asked) {
  char& baked = of(site).baked[static_cast<std::size_t>(rank.value)];
  if (baked == 0) baked = static_cast<char>(1 + asked.accumulate);
  const bool accumulate = baked == 2;
  return accumulate == asked.accumulate ? asked : Beta{accumulate, BetaRule::captured};
}

void CapturedUses::begin(CallSites call) {
  const UseSite& first = call.front();
  Captured& graph = of(first);
  const Why why = job_.why(Purpose::none, first.parameter, first.use);
  // The last replay may still read the static inputs.
  const auto ended_on = [&](Rank rank) { return graph.ended[static_cast<std::size_t>(rank.value)]; };
  job_.each_group(first.ranks, ended_on, [&](EventId event, std::span<const Rank> ranks) {
    if (event.value >= 0) job_.build.op(Wait{event}, why, Stream::compute, ranks);
  });
  for (const UseSite& site : call) load(site);
  job_.order(Stream::compute, Stream::graph, first.ranks);
  if (graph.id.value < 0) graph.id = GraphId{next_id_++};
  job_.build.op(BeginGraph{graph.id}, why, Stream::graph, first.ranks);
}

/// What the replay will read; nothing of a group without tokens.
void CapturedUses::load(const UseSite& site) {
  const ScenarioParameter& p = job_.parameter(site.parameter);
  const Why why = job_.why(Purpose::none, site.parameter, site.use);
  for (std::int32_t group = 0; group < p.groups; ++group) {
    const auto tokens_on = [&](Rank rank) {
      return tokens_at(job_.scenario, {site.parameter, group, rank.value, job_.microbatch});
    };
    const InputViews from = inputs_of(job_, site, group), to = inputs(site, group);
    job_.each_group(site.ranks, tokens_on, [&](std::int64_t tokens, std::span<const Rank> ranks) {
      if (tokens == 0) return;
      const auto part = [&](View view, std::int64_t width) {
        return View{view.buffer, view.offset, tokens * width};
      };
      job_.build.op(Copy{}, why, Stream::compute, ranks).on(part(from.x, p.columns()));
      job_.build.on(part(to.x, p.columns()));
      job_.build.op(Copy{}, why, Stream::compute, ranks).on(part(from.dy, p.rows_of_group()));
      job_.build.on(part(to.dy, p.rows_of_group()));
    });
  }
}

void CapturedUses::end(CallSites call) {
  const UseSite& first = call.front();
  const Why why = job_.why(Purpose::none, first.parameter, first.use);
  job_.build.op(EndGraph{}, why, Stream::graph, first.ranks);
  const EventId event = job_.build.event();
  job_.build.op(Record{event}, why, Stream::graph, first.ranks);
  for (const Rank rank : first.ranks) of(first).ended[static_cast<std::size_t>(rank.value)] = event;
  for (const UseSite& site : call) {
    if (!of(site).gradient) job_.replayed(site.parameter, event, site.ranks);
  }
}

InputViews CapturedUses::inputs(const UseSite& site, std::int32_t group) const {
  return of(site).inputs[static_cast<std::size_t>(group)];
}

View CapturedUses::gradient(const UseSite& site) const {
  SC_ASSERT(of(site).gradient.has_value(), "a use that returns no gradient");
  return *of(site).gradient;
}

}  // namespace shardcheck
