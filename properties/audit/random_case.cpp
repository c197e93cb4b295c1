#include "properties/audit/random_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "properties/generate/room.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

bool has_one_type(const std::string& adapter) {
  return adapter == "ddp" || adapter == "fsdp1" || adapter.starts_with("custom:");
}

bool accumulates_on_shards(const std::string& strategy) {
  return strategy == "optim_grads" || strategy == "optim_grads_params";
}

/// DeepSpeed has fp16 only with a loss scale, and rounds a reduced sum to the weights' type whatever the
/// wire's.
void draw_deepspeed_types(Draw& draw, Scenario& s) {
  const DType own = draw.chance(60) ? DType::f32 : DType::bf16;
  s.main_grad = draw.chance(50) ? DType::f32 : own;
  s.comm = own;
  for (ScenarioParameter& p : s.parameters) p.dtype = own;
}

void draw_types(Draw& draw, AuditCase& c) {
  constexpr Weighted<DType> types[] = {{DType::f32, 60}, {DType::bf16, 30}, {DType::f16, 10}};
  Scenario& s = c.scenario;
  if (c.adapter.name == "deepspeed") return draw_deepspeed_types(draw, s);
  const bool mixes = !has_one_type(c.adapter.name);
  const DType compute = draw.pick(types);
  s.main_grad = mixes ? DType::f32 : compute;
  s.comm = !mixes || draw.chance(50) ? compute : DType::f32;
  // Megatron-FSDP's package has no loss scaling, and fp16 is not among the types it names.
  const DType own = c.adapter.name == "megatron-fsdp" && compute == DType::f16 ? DType::bf16 : compute;
  if (s.comm == DType::f16 && own != DType::f16) s.comm = own;
  for (ScenarioParameter& p : s.parameters) p.dtype = own;
}

void draw_parameters(Draw& draw, AuditCase& c) {
  constexpr Weighted<std::int32_t> counts[] = {{1, 20}, {2, 45}, {3, 20}, {4, 15}};
  const std::int32_t count = draw.pick(counts);
  const bool freezes = c.adapter.name != "fsdp1";
  for (std::int32_t i = 0; i < count; ++i) {
    ScenarioParameter p{.name = fmt::format("w{}", i)};
    p.shape = {1 + draw.below(7)};
    if (draw.chance(80)) p.shape.push_back(1 + draw.below(7));
    p.trainable = i == 0 || !freezes || !draw.chance(15);
    p.unit = draw.below(3);
    // Megatron-FSDP needs a unit, and the columns of a unit's weights to be alike, or it refuses the model.
    if (c.adapter.name == "megatron-fsdp" && i == 0) p.unit = 1;
    if (c.adapter.name == "megatron-fsdp" && p.shape.size() == 2) p.shape[1] = 4;
    c.scenario.parameters.push_back(p);
  }
  for (std::int32_t i = 0; i < count; ++i) {
    constexpr Weighted<std::int32_t> uses[] = {{0, 5}, {1, 70}, {2, 20}, {3, 5}};
    const std::int32_t times = i == 0 ? 1 + draw.below(2) : draw.pick(uses);
    for (std::int32_t k = 0; k < times; ++k)
      c.scenario.uses.push_back({.parameter = i, .producer = Producer::unfused});
  }
  auto& uses = c.scenario.uses;
  for (std::size_t i = uses.size(); i > 1; --i)
    std::swap(uses[i - 1], uses[static_cast<std::size_t>(draw.below(static_cast<std::int32_t>(i)))]);
}

void draw_schedule(Draw& draw, Scenario& s) {
  constexpr Weighted<std::int32_t> steps[] = {{1, 35}, {2, 55}, {3, 10}};
  constexpr Weighted<std::int32_t> microbatches[] = {{1, 15}, {2, 45}, {3, 30}, {4, 10}};
  s.steps = draw.pick(steps);
  s.microbatches = draw.pick(microbatches);
  s.tokens = draw.chance(80) ? 1 : 2;
  if (draw.chance(12)) s.token_counts.push_back({draw.below(s.ranks), draw.below(s.microbatches), 0});
  if (!draw.chance(45)) return;
  const std::int32_t wanted = 1 + draw.below(2);
  for (std::int32_t i = 0; i < wanted; ++i) {
    Silence silence{.parameter = draw.below(static_cast<std::int32_t>(s.parameters.size()))};
    if (draw.chance(40)) silence.step = draw.below(s.steps);
    if (draw.chance(65)) silence.rank = draw.below(s.ranks);
    if (draw.chance(65)) silence.microbatch = draw.below(s.microbatches);
    s.silent.push_back(silence);
  }
}

bool has_unused(const Scenario& s) {
  if (!s.silent.empty()) return true;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (std::ranges::count(s.uses, p, &ScenarioUse::parameter) == 0) return true;
  }
  return false;
}

void draw_switches(Draw& draw, AuditCase& c) {
  AuditAdapter& a = c.adapter;
  a.sync = draw.chance(50) ? SyncOn::last : SyncOn::every;
  a.zeroes_gradients = draw.chance(35);
  if (a.name == "ddp") {
    // Without the switch DDP refuses weights that got no gradient, as it says; that is no bug.
    a.finds_unused = has_unused(c.scenario) || draw.chance(20);
    a.bucket_view = draw.chance(35);
    a.small_buckets = draw.chance(35);
  }
  if (a.name == "fsdp2" || a.name == "fsdp1") a.reshards = draw.chance(60);
  if (a.name == "fsdp2" && c.scenario.ranks > 1 && draw.chance(30)) {
    a.replicas = c.scenario.ranks % 2 == 0 && c.scenario.ranks > 2 ? 2 : c.scenario.ranks;
    a.all_reduce = draw.chance(50) ? SyncOn::last : SyncOn::every;
  }
  if (a.name == "deepspeed") {
    a.strategy = draw.pick({"optim_grads_params", "optim_grads", "optim"});
    a.sync = SyncOn::last;  // the engine decides
    a.zeroes_gradients = false;
    a.small_buckets = draw.chance(35);
    a.overlap = draw.chance(50);
    a.loss_division = draw.chance(50) ? LossDivision::accumulation : LossDivision::none;
    a.reshards = a.strategy != "optim_grads_params" || draw.chance(70);
  }
  if (a.name == "megatron-fsdp") {
    a.strategy = draw.pick({"optim_grads_params", "optim_grads", "optim", "no_shard"});
    a.zeroes_gradients = false;
    if (!accumulates_on_shards(a.strategy)) a.sync = SyncOn::last;
  }
}

/// A backward pass that reaches no weight calls no hook of the framework: no adapter promises anything then.
bool always_uses_a_weight(const Scenario& s) {
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
      for (std::int32_t m = 0; m < s.microbatches; ++m) {
        const auto reaches = [&](const ScenarioUse& use) {
          return s.parameters[static_cast<std::size_t>(use.parameter)].trainable &&
                 is_used(s, use.parameter, step, rank, m);
        };
        if (std::ranges::none_of(s.uses, reaches)) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::string refusal(const AuditCase& c) {
  const Scenario& s = c.scenario;
  if (std::string reason = inexpressible(s); !reason.empty()) return reason;
  if (c.adapter.replicas > 1 && c.adapter.name != "fsdp2") return "the adapter has no outer axis";
  for (const ScenarioParameter& p : s.parameters) {
    if (p.dtype != s.parameters.front().dtype) return "weights of several types";
    if (has_one_type(c.adapter.name) && (p.dtype != s.main_grad || p.dtype != s.comm))
      return "the adapter keeps weights, gradients and messages in one type";
    if (c.adapter.name == "fsdp1" && !p.trainable) return "the adapter has no frozen weights";
  }
  if (std::ranges::none_of(s.parameters, &ScenarioParameter::trainable)) return "every weight is frozen";
  if (!always_uses_a_weight(s)) return "a backward pass reaches no weight";
  if (c.adapter.name == "deepspeed") {
    const DType own = s.parameters.front().dtype;
    if (c.adapter.strategy == "no_shard") return "it is no stage of ZeRO";
    if (own == DType::f16 || s.comm != own || (s.main_grad != own && s.main_grad != DType::f32))
      return "DeepSpeed runs f32 and bf16, with the wire in the weights' type";
    if (c.adapter.sync == SyncOn::every) return "DeepSpeed's engine decides when gradients are reduced";
  }
  const bool twice =
      c.adapter.name == "megatron-fsdp" && c.adapter.sync == SyncOn::every && s.microbatches > 1;
  if (twice && !accumulates_on_shards(c.adapter.strategy))
    return "the strategy reduces its buffer once a step";
  return "";
}

AuditCase random_audit_case(Draw& draw, const AuditRoom& room) {
  // A model that finds no room for its digits is drawn again; most do.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    AuditCase c;
    c.adapter.name = room.adapter;
    c.scenario.ranks = room.ranks;
    draw_parameters(draw, c);
    draw_types(draw, c);
    draw_schedule(draw, c.scenario);
    draw_switches(draw, c);
    if (!make_room(c.scenario, draw.below(3)) || !refusal(c).empty()) continue;
    validate(c.scenario, "random case");
    return c;
  }
  SC_ASSERT(false, "no model found room");
  return {};
}

}  // namespace shardcheck
