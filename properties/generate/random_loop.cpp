#include "properties/generate/random_loop.h"

#include <algorithm>
#include <set>

#include "properties/generate/soundness.h"

namespace shardcheck {
namespace {

void draw_recompute(Draw& draw, Scenario& s) {
  std::set<std::int32_t> units;
  for (std::size_t u = 0; u < s.uses.size(); ++u) units.insert(unit_of_use(s, u));
  s.loop.recompute.all = draw.chance(40);
  if (s.loop.recompute.all) return;
  for (const std::int32_t unit : units) {
    if (draw.chance(60)) s.loop.recompute.units.push_back(unit);
  }
}

void draw_aborts(Draw& draw, Scenario& s) {
  const std::int32_t count = draw.chance(25) ? 2 : 1;
  const auto uses = static_cast<std::int32_t>(s.uses.size());
  for (std::int32_t i = 0; i < count; ++i) {
    Abort abort{.step = draw.below(s.steps)};
    if (draw.chance(70)) {
      abort.microbatch = draw.below(s.microbatches);
      abort.after_uses = draw.below(uses + 1);
    }
    s.loop.aborts.push_back(abort);
  }
  std::ranges::stable_sort(s.loop.aborts, {}, &Abort::step);
}

void draw_thawing(Draw& draw, Scenario& s) {
  const std::int32_t p = draw.below(static_cast<std::int32_t>(s.parameters.size()));
  if (!s.parameters[static_cast<std::size_t>(p)].trainable) return;
  const std::int32_t step = 1 + draw.below(s.steps - 1), copy = tied_copy(s, p);
  s.parameters[static_cast<std::size_t>(p)].thaws_at = step;
  if (copy >= 0) s.parameters[static_cast<std::size_t>(copy)].thaws_at = step;
}

/// The part of the events that `set` draws stays if the scenario is then as sound as before.
template <class Set>
void keep_if_sound(Scenario& s, Set set) {
  Scenario changed = s;
  set(changed);
  if (is_sound(changed) || !is_sound(s)) s = std::move(changed);
}

}  // namespace

void draw_loop(Draw& draw, Focus focus, Scenario& scenario) {
  if (scenario.fp8) return;
  const bool interrupts = focus == Focus::interrupted;
  if (draw.chance(focus == Focus::recompute ? 95 : 10))
    keep_if_sound(scenario, [&](Scenario& s) { draw_recompute(draw, s); });
  if (draw.chance(interrupts ? 75 : 6)) keep_if_sound(scenario, [&](Scenario& s) { draw_aborts(draw, s); });
  if (scenario.steps == 1) return;
  if (draw.chance(interrupts ? 50 : 5))
    keep_if_sound(scenario, [&](Scenario& s) { s.loop.resumes = {draw.below(s.steps - 1)}; });
  if (draw.chance(focus == Focus::frozen ? 45 : 6))
    keep_if_sound(scenario, [&](Scenario& s) { draw_thawing(draw, s); });
}

}  // namespace shardcheck
