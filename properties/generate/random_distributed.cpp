#include "properties/generate/random_distributed.h"

#include <algorithm>

#include "core/integers.h"
#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

bool may_have_them(const Scenario& s) {
  return is_megatron_ddp(s.strategy) && s.expert_parallel == 1 && s.outer == 1 && !s.fp8;
}

/// A matrix with uses, which no other rank has a copy of.
bool may_be_one(const Scenario& s, std::int32_t p) {
  const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
  const bool is_grouped =
      std::ranges::any_of(s.uses, [&](const ScenarioUse& use) { return use.parameter == p && use.grouped; });
  const bool is_leader = call_mates(s, p).size() > 1;
  return parameter.shape.size() == 2 && parameter.groups == 1 && !parameter.sequence_parallel &&
         tied_copy(s, p) < 0 && !is_grouped && !is_leader;
}

}  // namespace

void draw_distributed(Draw& draw, Focus focus, Scenario& s) {
  const bool wants = focus == Focus::persistent || focus == Focus::overlap || focus == Focus::pipeline;
  if (!may_have_them(s) || !draw.chance(wants ? 50 : 35)) return;
  s.gtp = s.ranks == 1 || draw.chance(15) ? 1 : 2 + draw.below(s.ranks / 2);
  while (s.ranks % s.gtp != 0) ++s.gtp;
  for (ScenarioParameter& parameter : s.parameters) parameter.expert = false;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (!may_be_one(s, p) || !draw.chance(75)) continue;
    for (ScenarioUse& use : s.uses) {
      if (use.parameter == p) use.producer = Producer::distributed;
    }
  }
  match_distributed(s);
}

void match_distributed(Scenario& s) {
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    std::int64_t& rows = s.parameters[static_cast<std::size_t>(p)].shape[0];
    if (is_distributed(s, p)) rows = round_up(rows, s.gtp);
  }
}

}  // namespace shardcheck
