#include "properties/generate/random_scenario.h"

#include <algorithm>

#include "properties/generate/random_calls.h"
#include "properties/generate/random_distributed.h"
#include "properties/generate/random_fp8.h"
#include "properties/generate/random_loop.h"
#include "properties/generate/random_model.h"
#include "properties/generate/random_stages.h"
#include "properties/generate/room.h"
#include "properties/generate/soundness.h"
#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

std::int32_t draw_expert_parallel(Draw& draw, Focus focus, std::int32_t ranks) {
  if (focus == Focus::group_of_one) return ranks;
  if (ranks == 1 || !draw.chance(30)) return 1;
  std::int32_t divisor = 2 + draw.below(ranks - 1);
  while (ranks % divisor != 0) ++divisor;
  return divisor;
}

void draw_mesh(Draw& draw, Focus focus, Scenario& s) {
  constexpr Weighted<std::int32_t> usual[] = {{1, 10}, {2, 28}, {3, 14}, {4, 18},
                                              {5, 6},  {6, 8},  {7, 5},  {8, 11}};
  constexpr Weighted<std::int32_t> small[] = {{1, 50}, {2, 20}, {3, 10}, {4, 20}};
  s.ranks = focus == Focus::group_of_one ? draw.pick(small) : draw.pick(usual);
  s.expert_parallel = draw_expert_parallel(draw, focus, s.ranks);
}

/// Properties of fused writes and of FP8 weights want an owner that has them.
bool wants_fused_owner(Focus focus) {
  return focus == Focus::today || focus == Focus::mixed_uses || focus == Focus::repeated_uses ||
         focus == Focus::fp8;
}

Strategy draw_strategy(Draw& draw, Focus focus) {
  using enum Strategy;
  if (focus == Focus::fp8 && draw.chance(24)) return fsdp2;
  const bool fused = wants_fused_owner(focus) || draw.chance(60);
  if (focus == Focus::sync && draw.chance(60)) return fsdp2;
  const bool leases = focus == Focus::leases || (focus == Focus::overlap && draw.chance(50));
  if (leases && fused) return draw.pick({fsdp_optim_grads, fsdp_optim_grads_params});
  if (leases) return draw.pick({fsdp_v2, fsdp2, deepspeed_2, deepspeed_3});
  if (focus == Focus::persistent)
    return draw.pick({megatron_ddp, megatron_ddp_zero1, fsdp_no_shard, fsdp_optim, deepspeed_1});
  if (fused) return static_cast<Strategy>(draw.below(static_cast<std::int32_t>(fsdp_v2)));
  return draw.pick({fsdp_v2, fsdp2, deepspeed_1, deepspeed_2, deepspeed_3});
}

/// A hybrid mesh, and the switches of FSDP2.
void draw_outer(Draw& draw, Focus focus, Scenario& s) {
  const std::int32_t most = s.ranks / s.expert_parallel;
  if (allows_outer(s.strategy) && focus != Focus::fp8 && most > 1 && draw.chance(40)) {
    s.outer = 2 + draw.below(most - 1);
    while (most % s.outer != 0) ++s.outer;
    const bool may_shard = has_leases(s.strategy) && s.strategy != Strategy::fsdp2;
    if (may_shard && draw.chance(40)) s.outer_mode = OuterMode::shard;
  }
  if (s.strategy != Strategy::fsdp2) return;
  if (draw.chance(35)) s.sync = Sync::last;
  if (s.outer > 1 && draw.chance(40)) s.outer_sync = Sync::every;
}

void draw_owner(Draw& draw, Focus focus, Scenario& s) {
  constexpr Weighted<std::int32_t> slots[] = {{1, 40}, {2, 40}, {3, 20}};
  s.strategy = draw_strategy(draw, focus);
  if (draw.chance(focus == Focus::overlap ? 70 : 35)) s.bucket_size = 1 + draw.below(24);
  s.overlap = draw.chance(focus == Focus::overlap ? 95 : focus == Focus::sync ? 50 : 70);
  s.slots = draw.pick(slots);
  if (has_leases(s.strategy) && !replaces_first(s.strategy) && draw.chance(20)) s.zeroing = false;
  draw_outer(draw, focus, s);
  if (allows_offload(s.strategy)) s.offload = draw.chance(30);
}

void draw_schedule(Draw& draw, Focus focus, Scenario& s) {
  constexpr Weighted<std::int32_t> steps[] = {{1, 18}, {2, 67}, {3, 15}};
  constexpr Weighted<std::int32_t> microbatches[] = {{1, 20}, {2, 46}, {3, 20}, {4, 14}};
  constexpr Weighted<std::int64_t> tokens[] = {{1, 72}, {2, 14}, {3, 7}, {4, 7}};
  s.steps = draw.pick(steps);
  s.microbatches = draw.pick(microbatches);
  s.tokens = draw.pick(tokens);
  const bool empties = focus == Focus::empty_microbatches;
  if (empties && draw.chance(3)) s.tokens = 0;
  if (!draw.chance(empties ? 97 : 20)) return;
  constexpr Weighted<std::int64_t> counts[] = {{0, 60}, {1, 10}, {2, 20}, {5, 10}};
  const std::int32_t places = s.ranks * s.microbatches;
  const std::int32_t first = draw.below(places), wanted = 1 + draw.below(3);
  for (std::int32_t i = 0; i < std::min(wanted, places); ++i) {
    const std::int32_t place = (first + i * (1 + places / 3)) % places;
    const TokenCount count{place / s.microbatches, place % s.microbatches, draw.pick(counts)};
    const bool counted = std::ranges::any_of(s.token_counts, [&](const TokenCount& t) {
      return t.rank == count.rank && t.microbatch == count.microbatch;
    });
    if (!counted) s.token_counts.push_back(count);
  }
}

/// A parameter falls silent in a step, on a rank, in a microbatch, or in any product of the three.
void draw_silences(Draw& draw, Focus focus, Scenario& s) {
  if (!draw.chance(focus == Focus::silence ? 95 : focus == Focus::today ? 18 : 30)) return;
  const std::int32_t wanted = 1 + draw.below(3);
  for (std::int32_t i = 0; i < wanted; ++i) {
    Silence silence{.parameter = draw.below(static_cast<std::int32_t>(s.parameters.size()))};
    if (draw.chance(55)) silence.step = draw.below(s.steps);
    if (draw.chance(50)) silence.rank = draw.below(s.ranks);
    if (draw.chance(60)) silence.microbatch = draw.below(s.microbatches);
    s.silent.push_back(silence);
  }
}

void draw_protocol(Draw& draw, Focus focus, Scenario& s) {
  using enum WriteMode;
  constexpr Weighted<WriteMode> usual[] = {{r5, 50},    {r6, 11}, {r7, 8}, {r8, 8}, {te_module, 11},
                                           {te_ops, 4}, {r1, 2},  {r2, 2}, {r3, 3}, {r4, 2}};
  constexpr Weighted<WriteMode> today[] = {{r5, 6}, {te_module, 48}, {te_ops, 16}, {r1, 6},
                                           {r2, 6}, {r3, 10},        {r4, 8}};
  constexpr Weighted<FirstMicrobatch> drivers[] = {
      {FirstMicrobatch::none, 40}, {FirstMicrobatch::index, 30}, {FirstMicrobatch::armed, 30}};
  constexpr Weighted<Execution> executions[] = {
      {Execution::eager, 58}, {Execution::delayed, 21}, {Execution::graph, 21}};
  s.write_mode = focus == Focus::today ? draw.pick(today) : draw.pick(usual);
  if (is_unfused_only(s.strategy)) s.write_mode = draw.pick({r5, r6, r7, r8});
  if (s.write_mode == r4 && has_leases(s.strategy)) s.write_mode = r3;
  s.first_microbatch = s.write_mode == te_module ? draw.pick(drivers) : FirstMicrobatch::none;
  s.execution = draw.pick(executions);
  const bool fuses = std::ranges::count(s.uses, Producer::fused, &ScenarioUse::producer) > 0;
  if (s.write_mode == r7 || !fuses) s.execution = Execution::eager;
}

void draw_numerics(Draw& draw, Focus focus, Scenario& s) {
  constexpr Weighted<Scaling> scalings[] = {
      {Scaling::before, 50}, {Scaling::in_collective, 30}, {Scaling::finalize, 20}};
  constexpr Weighted<DType> types[] = {{DType::f32, 72}, {DType::bf16, 18}, {DType::f16, 10}};
  s.loss = draw.chance(focus == Focus::scaling ? 45 : 30) ? Loss::per_token : Loss::mean;
  s.scaling = focus == Focus::scaling ? static_cast<Scaling>(draw.below(3)) : draw.pick(scalings);
  if (draw.chance(focus == Focus::pipeline ? 35 : 8)) s.clip = 1 + draw.below(2);
  s.main_grad = draw.pick(types);
  s.comm = draw.chance(50) ? s.main_grad : draw.pick(types);
}

/// Under R8 owners that read autograd's gradients may have fused producers, which add to them.
void draw_chains(Draw& draw, Scenario& s) {
  if (s.write_mode != WriteMode::r8 || !is_unfused_only(s.strategy)) return;
  for (ScenarioUse& use : s.uses) {
    const bool is_matrix = s.parameters[static_cast<std::size_t>(use.parameter)].shape.size() == 2;
    if (is_matrix && use.producer == Producer::unfused && draw.chance(60)) use.producer = Producer::fused;
  }
  mend_calls(s);
}

/// Provenance where every scale is a power of two and the contributions find room, integers elsewhere.
void draw_data(Draw& draw, Scenario& s) {
  const bool wants_provenance = draw.chance(82);
  const std::int64_t spare = draw.below(4);
  if (wants_provenance && s.loss == Loss::per_token) make_tokens_exact(s);
  const bool fits = wants_provenance && has_exact_scale(s) && make_room(s, spare);
  match_experts(s);  // which may take room from one that has more gradients than another
  match_distributed(s);
  s.data = fits && has_room(s) ? DataMode::provenance : DataMode::integers;
  round_up_shapes(s);
}

Scenario draw_all_but_protocol(Draw& draw, Focus focus) {
  Scenario s;
  s.seed = 1 + static_cast<std::uint64_t>(draw.below(1 << 30));
  draw_mesh(draw, focus, s);
  draw_owner(draw, focus, s);
  draw_schedule(draw, focus, s);
  draw_model(draw, focus, s);
  if (is_unfused_only(s.strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  if (focus == Focus::fp8)
    draw_fp8(draw, s);
  else
    draw_stages(draw, focus, s);
  draw_silences(draw, focus, s);
  draw_experts(draw, focus, s);
  match_experts(s);
  draw_distributed(draw, focus, s);
  draw_numerics(draw, focus, s);
  return s;
}

}  // namespace

Scenario random_scenario(Draw& draw, Focus focus) {
  if (focus == Focus::owners) focus = draw.chance(3) ? Focus::fp8 : Focus::any;
  constexpr int kTries = 4;  // of a protocol that the uses allow; then the reference
  Scenario s = draw_all_but_protocol(draw, focus);
  bool sound = false;
  for (int i = 0; i < kTries && !sound; ++i) {
    draw_protocol(draw, focus, s);
    sound = is_sound(s);
  }
  if (!sound) {
    s.write_mode = WriteMode::r5;
    s.first_microbatch = FirstMicrobatch::none;
  }
  draw_chains(draw, s);
  draw_data(draw, s);
  draw_loop(draw, focus, s);
  match_copies(s);
  match_experts(s);
  if (allows_staging(s)) s.staging = draw.chance(40);
  return s;
}

Scenario random_unsound_scenario(Draw& draw, Focus focus) {
  Scenario s = draw_all_but_protocol(draw, focus);
  draw_protocol(draw, focus, s);
  draw_data(draw, s);
  draw_loop(draw, focus, s);
  match_copies(s);
  match_experts(s);
  return s;
}

}  // namespace shardcheck
