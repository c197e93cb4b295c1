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
  const std::int64_t most = most_tokens(s);
  std::int64_t next[3] = {0, 0, 0};
  std::vector<std::int32_t> seen(s.parameters.size());
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      std::fill(seen.begin(), seen.end(), 0);
      for (const ScenarioUse& use : s.uses) {
        const ScenarioParameter& p = job_.parameter(use.parameter);
        std::int64_t& at = next[static_cast<int>(p.dtype)];
        const std::int32_t number = seen[static_cast<std::size_t>(use.parameter)]++;
        for (std::int32_t group = 0; group < p.groups; ++group) {
          InputSlot slot{use.parameter, step, m, number, group, {}, {}};
          slot.x = {BufferId{static_cast<std::int32_t>(p.dtype)}, at, most * p.columns()};
          at += aligned(slot.x.numel, p.dtype);
          slot.dy = {slot.x.buffer, at, most * p.rows_of_group()};
          at += aligned(slot.dy.numel, p.dtype);
          job_.planned.inputs.push_back(slot);
        }
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
  captured_uses_.setup();
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const auto parameter = static_cast<std::int32_t>(i);
    const ScenarioParameter& p = s.parameters[i];
    if (job_.uses_of(parameter) == 0 || !p.trainable) continue;
    const DType type = has_chain(s, parameter) ? type_of_local_sum(s) : p.dtype;
    job_.allocate(autograd_name(job_, parameter), BufferRole::param_grad, type, p.numel());
    if (job_.uses_of(parameter) > 1) {
      job_.allocate(autograd_name(job_, parameter) + ".next", BufferRole::param_grad, p.dtype, p.numel());
    }
    if (!exists(plan, placeholder_name(p))) {
      job_.allocate(placeholder_name(p), BufferRole::placeholder, p.dtype, p.numel());
    }
    if (is_distributed(s, parameter)) add_scratch(parameter);
  }
}

void Producers::resume() {
  abort_step();
  std::ranges::fill(captured_, 0);
  captured_uses_.restart();
}

void Producers::multiply(const UseSite& site, View whole, const std::function<Beta(Rank)>& beta_on) {
  struct Kind {
    std::int64_t tokens;
    Beta beta;
    bool operator==(const Kind&) const = default;
  };
  const bool captured = captured_uses_.has(site);
  const ScenarioParameter& p = job_.parameter(site.parameter);
  const std::int64_t rows = p.rows_of_group(), numel = rows * p.columns();
  for (std::int32_t group = 0; group < p.groups; ++group) {
    const auto kind_of = [&](Rank rank) {
      return Kind{tokens_at(job_.scenario, {site.parameter, group, rank.value, job_.microbatch}),
                  beta_on(rank)};
    };
    const InputViews in = captured ? captured_uses_.inputs(site, group) : inputs_of(job_, site, group);
    job_.each_group(site.ranks, kind_of, [&](Kind kind, std::span<const Rank> ranks) {
      Why why = job_.why(Purpose::write, site.parameter, site.use);
      why.rule = kind.beta.rule;
      why.deferred = site.producer == Producer::deferred;
      const Gemm gemm{kind.tokens, rows, p.columns(), kind.beta.accumulate};
      job_.build.op(gemm, why, captured ? Stream::graph : Stream::compute, ranks)
          .on({in.dy.buffer, in.dy.offset, kind.tokens * rows})
          .on({in.x.buffer, in.x.offset, kind.tokens * p.columns()})
          .on({whole.buffer, whole.offset + group * numel, numel});
    });
  }
}

void Producers::return_gradients(CallSites call) {
  const auto is_first = [&](const UseSite& site) {
    return job_.host(site.ranks.front(), site.parameter).real == 0;
  };
  // Where products are added to it, param.grad has another type than a gradient that joins them.
  const auto casts = [&](const UseSite& site) { return has_chain(job_.scenario, site.parameter); };
  const auto fresh_of = [&](const UseSite& site) {
    if (is_first(site) && !casts(site)) return gradient_of_autograd(job_, site.parameter);
    return find(job_.planned.plan, autograd_name(job_, site.parameter) + ".next");
  };
  const auto overwrites = [](Rank) { return Beta{}; };
  if (captured_uses_.has(call.front())) {
    // A replay leaves its gradients where the next one will: what autograd holds are copies of them.
    captured_uses_.begin(call);
    for (const UseSite& site : call) multiply(site, captured_uses_.gradient(site), overwrites);
    captured_uses_.end(call);
    job_.order(Stream::graph, Stream::compute, call.front().ranks);
    for (const UseSite& site : call) {
      const Why why = job_.why(Purpose::none, site.parameter, site.use);
      job_.build.op(Copy{}, why, Stream::compute, site.ranks)
          .on(captured_uses_.gradient(site))
          .on(fresh_of(site));
    }
  } else {
    for (const UseSite& site : call) multiply(site, fresh_of(site), overwrites);
  }
  for (const UseSite& site : call) {
    const Why why = job_.why(Purpose::none, site.parameter, site.use);
    if (site.producer != Producer::assigned)
      job_.build.op(Return{Returned::real}, why, Stream::compute, site.ranks);
    if (!is_first(site) || casts(site)) {
      job_.await_replays({&site.parameter, 1}, Stream::compute);  // that have added to param.grad
      job_.build.op(is_first(site) ? Action(Copy{}) : Action(Add{}), why, Stream::compute, site.ranks)
          .on(fresh_of(site))
          .on(gradient_of_autograd(job_, site.parameter));
    }
    for (Rank rank : site.ranks) ++job_.host(rank, site.parameter).real;
  }
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
