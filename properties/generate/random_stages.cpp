#include "properties/generate/random_stages.h"

#include <algorithm>
#include <string>

#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

/// The first parameter that may have a copy on the last stage, as an embedding and its head; -1: none.
std::int32_t embedding_of(const Scenario& s) {
  if (!sums_copies(s.strategy)) return -1;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    if (parameter.trainable && !parameter.expert && parameter.stage + 1 < s.stages) return p;
  }
  return -1;
}

void draw_copy(Draw& draw, Scenario& s) {
  const std::int32_t embedding = embedding_of(s);
  if (embedding < 0 || !draw.chance(80)) return;
  ScenarioParameter copy = s.parameters[static_cast<std::size_t>(embedding)];
  copy.name = "w" + std::to_string(s.parameters.size());
  copy.stage = s.stages - 1;
  copy.tied_to = embedding;
  copy.unit = s.parameters.back().unit + draw.below(2);
  const bool returns = copy.shape.size() == 1 || is_unfused_only(s.strategy) || draw.chance(25);
  const auto index = static_cast<std::int32_t>(s.parameters.size());
  s.parameters.push_back(copy);
  if (draw.chance(90)) s.uses.push_back({index, returns ? Producer::unfused : Producer::fused, -1});
}

/// Norms are copied over tensor-parallel ranks where the owner sums them, matrices seldom.
void draw_tensor(Draw& draw, Focus focus, Scenario& s) {
  if (!draw.chance(focus == Focus::pipeline ? 45 : 5)) return;
  s.tensor = draw.chance(80) ? 2 : 3;
  if (!sums_copies(s.strategy)) return;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    const bool may = !parameter.expert && tied_copy(s, p) < 0;
    parameter.sequence_parallel = may && draw.chance(parameter.shape.size() == 1 ? 85 : 25);
  }
}

/// Deferred where main_grad is written, assigned where the only use goes through autograd.
void draw_late_gradients(Draw& draw, Focus focus, Scenario& s) {
  const std::int32_t percent = focus == Focus::pipeline ? 30 : 6;
  for (ScenarioUse& use : s.uses) {
    if (!draw.chance(percent)) continue;
    const bool is_only = std::ranges::count(s.uses, use.parameter, &ScenarioUse::parameter) == 1;
    if (use.producer == Producer::fused && !is_unfused_only(s.strategy)) use.producer = Producer::deferred;
    if (use.producer == Producer::unfused && is_only) use.producer = Producer::assigned;
  }
}

void draw_pipeline(Draw& draw, Scenario& s) {
  s.stages = draw.chance(80) ? 2 : 3;
  for (std::size_t p = 1; p < s.parameters.size(); ++p)
    s.parameters[p].stage = std::min(s.parameters[p - 1].stage + draw.below(2), s.stages - 1);
  draw_copy(draw, s);
}

}  // namespace

void draw_stages(Draw& draw, Focus focus, Scenario& s) {
  if (focus != Focus::today) draw_late_gradients(draw, focus, s);
  if (draw.chance(focus == Focus::pipeline ? 75 : 12)) draw_pipeline(draw, s);
  draw_tensor(draw, focus, s);
}

void match_copies(Scenario& s) {
  for (ScenarioParameter& p : s.parameters) {
    if (p.tied_to < 0) continue;
    const ScenarioParameter& first = s.parameters[static_cast<std::size_t>(p.tied_to)];
    p.shape = first.shape;
    p.thaws_at = first.thaws_at;
  }
}

}  // namespace shardcheck
