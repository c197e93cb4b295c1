#include "properties/generate/random_calls.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

std::int32_t percent_of(Focus focus) {
  switch (focus) {
    case Focus::empty_microbatches: return 55;
    case Focus::leases:
    case Focus::persistent:
    case Focus::repeated_uses:
    case Focus::today: return 25;
    default: return 12;
  }
}

/// Matrices that no other stage has a copy of.
std::vector<std::int32_t> candidates(const Scenario& s) {
  std::vector<std::int32_t> found;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    if (parameter.shape.size() == 2 && parameter.tied_to < 0 && tied_copy(s, p) < 0) found.push_back(p);
  }
  return found;
}

/// Between two calls, not inside one.
std::size_t draw_place(Draw& draw, const Scenario& s) {
  const std::vector<GroupedCall> calls = calls_of(s);
  const std::int64_t before = draw.below(std::ssize(calls) + 1);
  return before == std::ssize(calls) ? s.uses.size() : calls[static_cast<std::size_t>(before)].first;
}

void drop_single_uses(std::int32_t parameter, Scenario& s) {
  std::vector<ScenarioUse> kept;
  for (const GroupedCall& call : calls_of(s)) {
    if (call.members() == 1 && s.uses[call.first].parameter == parameter) continue;
    for (std::size_t u = call.first; u < call.last; ++u) kept.push_back(s.uses[u]);
  }
  s.uses = std::move(kept);
}

/// The weight and one to three like it, written by one call or, a repeated layer, by two.
std::vector<std::int32_t> draw_call(Draw& draw, std::int32_t first, Scenario& s) {
  std::vector<std::int32_t> members = {first};
  for (ScenarioUse& use : s.uses) {
    const bool is_assigned = use.parameter == first && use.producer == Producer::assigned;
    if (is_assigned) use.producer = Producer::unfused;  // what others have left would be lost
  }
  for (std::int32_t more = 1 + draw.below(3); more > 0; --more) {
    ScenarioParameter expert = s.parameters[static_cast<std::size_t>(first)];
    expert.name = "w" + std::to_string(s.parameters.size());
    members.push_back(static_cast<std::int32_t>(s.parameters.size()));
    s.parameters.push_back(std::move(expert));
  }
  const bool returns = is_unfused_only(s.strategy) || draw.chance(15);
  for (std::int32_t calls = draw.chance(25) ? 2 : 1; calls > 0; --calls) {
    std::vector<ScenarioUse> call;
    for (const std::int32_t p : members)
      call.push_back({p, returns ? Producer::unfused : Producer::fused, -1, p != first});
    s.uses.insert(s.uses.begin() + static_cast<std::ptrdiff_t>(draw_place(draw, s)), call.begin(),
                  call.end());
  }
  // What the weight was used for before would make today's producers unsound; the reference keeps half.
  if (draw.chance(50)) drop_single_uses(first, s);
  return members;
}

/// Several experts, one below the other.
void draw_groups(Draw& draw, std::int32_t p, Scenario& s) {
  ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
  parameter.groups = 2 + draw.below(3);
  parameter.shape[0] *= parameter.groups;
  if (std::ranges::count(s.uses, p, &ScenarioUse::parameter) > 0) return;
  const ScenarioUse use{p, is_unfused_only(s.strategy) ? Producer::unfused : Producer::fused, -1};
  s.uses.insert(s.uses.begin() + static_cast<std::ptrdiff_t>(draw_place(draw, s)), use);
}

/// Each expert sees a number of its own somewhere, most often none.
void draw_routes(Draw& draw, const std::vector<std::int32_t>& experts, Scenario& s) {
  constexpr Weighted<std::int64_t> counts[] = {{0, 60}, {1, 12}, {2, 16}, {3, 12}};
  for (const std::int32_t p : experts) {
    const std::int32_t groups = s.parameters[static_cast<std::size_t>(p)].groups;
    for (std::int32_t group = 0; group < groups; ++group) {
      if (draw.chance(35)) continue;
      const TokenCount count{.rank = draw.below(s.ranks),
                             .microbatch = draw.below(s.microbatches),
                             .tokens = draw.pick(counts),
                             .parameter = p,
                             .group = groups == 1 ? -1 : group};
      s.token_counts.push_back(count);
    }
  }
}

std::vector<Silence> silences_of(const Scenario& s, std::int32_t parameter) {
  std::vector<Silence> found;
  std::ranges::copy_if(s.silent, std::back_inserter(found),
                       [&](const Silence& silence) { return silence.parameter == parameter; });
  return found;
}

/// The member gets what the experts of a call have in common; false where it had it.
bool match(std::int32_t member, std::int32_t model, Scenario& s) {
  const ScenarioParameter& from = s.parameters[static_cast<std::size_t>(model)];
  ScenarioParameter& to = s.parameters[static_cast<std::size_t>(member)];
  std::vector<Silence> silences = silences_of(s, model);
  for (Silence& silence : silences) silence.parameter = member;
  if (to.shape == from.shape && to.thaws_at == from.thaws_at && silences_of(s, member) == silences)
    return false;
  to.shape = from.shape;
  to.thaws_at = from.thaws_at;
  std::erase_if(s.silent, [&](const Silence& silence) { return silence.parameter == member; });
  s.silent.insert(s.silent.end(), silences.begin(), silences.end());
  return true;
}

}  // namespace

void draw_experts(Draw& draw, Focus focus, Scenario& s) {
  if (!draw.chance(percent_of(focus))) return;
  const std::vector<std::int32_t> weights = candidates(s);
  if (weights.empty()) return;
  const std::int32_t first = weights[static_cast<std::size_t>(draw.below(std::ssize(weights)))];
  const bool in_one = !s.fp8 && draw.chance(40);
  if (in_one) draw_groups(draw, first, s);
  const std::vector<std::int32_t> experts =
      in_one && draw.chance(75) ? std::vector{first} : draw_call(draw, first, s);
  draw_routes(draw, experts, s);
}

void match_experts(Scenario& s) {
  // A weight may be of several calls: what the first of all parameters has spreads from call to call.
  for (bool changed = true; changed;) {
    changed = false;
    for (const GroupedCall& call : calls_of(s)) {
      std::int32_t model = s.uses[call.first].parameter;
      for (std::size_t u = call.first; u < call.last; ++u) model = std::min(model, s.uses[u].parameter);
      for (std::size_t u = call.first; u < call.last; ++u) changed |= match(s.uses[u].parameter, model, s);
    }
  }
}

}  // namespace shardcheck
