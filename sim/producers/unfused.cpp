// The unfused producer: a fresh gradient in the parameter's type, summed by autograd for the owner's hook;
// and the placeholder that a fused use of the same parameter hands to autograd beside it.
#include <algorithm>

#include "core/assert.h"
#include "core/integers.h"
#include "sim/producers/producer.h"

namespace shardcheck {
namespace {

std::string autograd_name(const Job& job, std::int32_t parameter) {
  return job.parameter(parameter).name + ".grad";
}

/// One placeholder is cached for each shape and type and shared by all layers.
std::string placeholder_name(const ScenarioParameter& p) {
  return "placeholder." + std::string(name_of(p.dtype)) + "." + std::to_string(p.rows()) + "x" +
         std::to_string(p.columns());
}

View find(const Plan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& b) { return b.name == name; });
  SC_ASSERT(found != plan.buffers.end(), "a buffer that setup did not allocate");
  return {BufferId{static_cast<std::int32_t>(found - plan.buffers.begin())}, 0, found->numel};
}

bool exists(const Plan& plan, const std::string& name) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                     [&](const Buffer& b) { return b.name == name; });
}

/// Operands begin at multiples of 16 bytes, as a GPU's GEMM wants them.
std::int64_t aligned(std::int64_t numel, DType type) {
  return round_up(numel, 16 / bytes_of(type));
}

}  // namespace

View gradient_of_autograd(const Job& job, std::int32_t parameter) {
  return find(job.planned.plan, autograd_name(job, parameter));
}

void Producers::setup() {
  const Scenario& s = job_.scenario;
  Plan& plan = job_.planned.plan;
  captured_.assign(s.uses.size() * static_cast<std::size_t>(world_size(s)), 0);
  baked_.assign(captured_.size(), 0);
  std::int64_t most_tokens = s.tokens;
  for (const TokenCount& count : s.token_counts) most_tokens = std::max(most_tokens, count.tokens);
  std::int64_t next[3] = {0, 0, 0};
  std::vector<std::int32_t> seen(s.parameters.size());
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      std::fill(seen.begin(), seen.end(), 0);
      for (const ScenarioUse& use : s.uses) {
        const ScenarioParameter& p = job_.parameter(use.parameter);
        std::int64_t& at = next[static_cast<int>(p.dtype)];
        InputSlot slot{use.parameter, step, m, seen[static_cast<std::size_t>(use.parameter)]++, {}, {}};
        slot.x = {BufferId{static_cast<std::int32_t>(p.dtype)}, at, most_tokens * p.columns()};
        at += aligned(slot.x.numel, p.dtype);
        slot.dy = {slot.x.buffer, at, most_tokens * p.rows()};
        at += aligned(slot.dy.numel, p.dtype);
        job_.planned.inputs.push_back(slot);
      }
    }
  }
  BufferId inputs[3];
  for (int type = 0; type < 3; ++type) {
    if (next[type] == 0) continue;
    const auto dtype = static_cast<DType>(type);
    inputs[type] =
        job_.allocate("inputs." + std::string(name_of(dtype)), BufferRole::inputs, dtype, next[type]);
  }
  for (InputSlot& slot : job_.planned.inputs) {
    slot.x.buffer = slot.dy.buffer = inputs[slot.x.buffer.value];
  }
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const auto parameter = static_cast<std::int32_t>(i);
    const ScenarioParameter& p = s.parameters[i];
    if (job_.uses_of(parameter) == 0 || !p.trainable) continue;
    job_.allocate(autograd_name(job_, parameter), BufferRole::param_grad, p.dtype, p.numel());
    if (job_.uses_of(parameter) > 1) {
      job_.allocate(autograd_name(job_, parameter) + ".next", BufferRole::param_grad, p.dtype, p.numel());
    }
    if (!exists(plan, placeholder_name(p))) {
      job_.allocate(placeholder_name(p), BufferRole::placeholder, p.dtype, p.numel());
    }
  }
}

void Producers::resume() {
  abort_step();
  std::ranges::fill(captured_, 0);
  std::ranges::fill(baked_, 0);
}

InputViews Producers::inputs(const UseSite& site, std::int64_t tokens) const {
  const Scenario& s = job_.scenario;
  const auto uses = static_cast<std::int32_t>(s.uses.size());
  const auto index = (job_.step * s.microbatches + job_.microbatch) * uses + site.position;
  InputViews views{job_.planned.inputs[static_cast<std::size_t>(index)].x,
                   job_.planned.inputs[static_cast<std::size_t>(index)].dy};
  const ScenarioParameter& p = job_.parameter(site.parameter);
  views.x.numel = tokens * p.columns();
  views.dy.numel = tokens * p.rows();
  return views;
}

void Producers::return_gradient(const UseSite& site) {
  const ScenarioParameter& p = job_.parameter(site.parameter);
  const View held = gradient_of_autograd(job_, site.parameter);
  const bool first = job_.host(site.ranks.front(), site.parameter).real == 0;
  const View fresh = first ? held : find(job_.planned.plan, autograd_name(job_, site.parameter) + ".next");
  const auto tokens_on = [&](Rank rank) { return tokens_of(job_.scenario, rank.value, job_.microbatch); };
  job_.each_group(site.ranks, tokens_on, [&](std::int64_t tokens, std::span<const Rank> ranks) {
    const InputViews in = inputs(site, tokens);
    const Gemm gemm{tokens, p.rows(), p.columns(), false};
    job_.build.op(gemm, job_.why(Purpose::write, site.parameter, site.use), Stream::compute, ranks);
    job_.build.on(in.dy).on(in.x).on(fresh);
  });
  const Why why = job_.why(Purpose::none, site.parameter, site.use);
  if (site.producer != Producer::assigned)
    job_.build.op(Return{Returned::real}, why, Stream::compute, site.ranks);
  if (!first) job_.build.op(Add{}, why, Stream::compute, site.ranks).on(fresh).on(held);
  for (Rank rank : site.ranks) ++job_.host(rank, site.parameter).real;
}

void add_placeholder(Job& job, std::int32_t parameter, std::span<const Rank> ranks) {
  const HostState& host = job.host(ranks.front(), parameter);
  if (host.dummies == 0) return;
  const View placeholder = find(job.planned.plan, placeholder_name(job.parameter(parameter)));
  const View held = gradient_of_autograd(job, parameter);
  const Why why = job.why(Purpose::dummy, parameter);
  // The cached tensor is undefined until its user asks for zeros (zero_out_wgrad).
  job.build.op(Undefine{}, why, Stream::compute, ranks).on(placeholder);
  if (job.is_mixed(parameter)) job.build.op(Fill{0}, why, Stream::compute, ranks).on(placeholder);
  if (host.real > 0) {
    for (std::int32_t i = 0; i < host.dummies; ++i)
      job.build.op(Add{}, why, Stream::compute, ranks).on(placeholder).on(held);
  } else {
    job.build.op(Copy{}, why, Stream::compute, ranks).on(placeholder).on(held);
  }
}

}  // namespace shardcheck
