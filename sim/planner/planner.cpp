#include "sim/planner/planner.h"

#include <optional>
#include <set>

#include "sim/owners/hooks.h"
#include "sim/owners/owner.h"
#include "sim/planner/declared.h"
#include "sim/producers/producer.h"
#include "sim/weights/fp8_weights.h"

namespace shardcheck {
namespace {

class Loop {
 public:
  Loop(const Scenario& scenario, Lapse lapse)
      : scenario_(scenario), job_(scenario), owner_(make_owner(job_)), producers_(job_) {
    job_.lapse = lapse;
    if (scenario.fp8) weights_.emplace(job_);
  }

  Planned run() {
    producers_.setup();
    owner_->setup();
    if (weights_) weights_->setup();
    job_.planned.setup_end = OpIndex{static_cast<std::int32_t>(job_.planned.plan.ops.size())};
    if (weights_) weights_->create();
    for (job_.step = 0; job_.step < scenario_.steps; ++job_.step) step();
    return std::move(job_.planned);
  }

 private:
  void step() {
    job_.attempt = 0;
    for (const Abort& abort : scenario_.loop.aborts) {
      if (abort.step != job_.step) continue;
      attempt(&abort);
      give_up();
      ++job_.attempt;
    }
    attempt(nullptr);
    owner_->finish();
    if (weights_) weights_->end_step();
    mark(EndStep{});
    if (weights_) between_steps();
    if (is_resumed_after(scenario_, job_.step)) resume();
  }

  /// The step up to its last backward, or to where it is given up.
  void attempt(const Abort* abort) {
    abort_ = abort;
    job_.microbatch = -1;
    mark(BeginStep{});
    owner_->begin_step();
    for (job_.microbatch = 0; job_.microbatch < scenario_.microbatches; ++job_.microbatch) {
      microbatch();
      if (is_given_up_here()) break;
    }
    job_.microbatch = -1;
  }

  bool is_given_up_here() const { return abort_ != nullptr && abort_->microbatch == job_.microbatch; }

  void give_up() {
    job_.order(Stream::reduce, Stream::compute, job_.all_ranks);
    if (scenario_.execution == Execution::graph) job_.order(Stream::graph, Stream::compute, job_.all_ranks);
    mark(Interrupt{Ended::attempt});
    owner_->abort_step();
    producers_.abort_step();
    job_.forget();
  }

  /// The masters are read back from a checkpoint, which leaves them as they are.
  void resume() {
    mark(Interrupt{Ended::process});
    job_.first_step = job_.step + 1;
    job_.reallocate();
    owner_->resume();
    producers_.resume();
    job_.forget();
  }

  /// An evaluation sees what the first microbatch of the step saw.
  void between_steps() {
    job_.microbatch = 0;
    const std::vector<UseSite> sites = sites_of_microbatch();
    job_.microbatch = -1;
    weights_->between_steps(sites);
  }

  void microbatch() {
    mark(BeginMicrobatch{});
    const std::vector<UseSite> sites = sites_of_microbatch();
    std::set<std::int32_t> gathered;
    if (weights_) weights_->begin_pass(Pass::forward, sites);
    for (const UseSite& site : sites) {
      unshard_once(site, gathered);
      producers_.forward(site);
      if (weights_) weights_->use(site);
    }
    backward(sites);
    if (is_given_up_here()) return;
    owner_->end_backward(job_.microbatch == scenario_.microbatches - 1);
  }

  void backward(const std::vector<UseSite>& sites) {
    const bool delayed = scenario_.execution == Execution::delayed;
    const bool last = job_.microbatch == scenario_.microbatches - 1;
    std::vector<std::int32_t> waiting;  // hooks that run when the queued writes are done
    std::set<std::int32_t> gathered, recomputed;
    std::int32_t done = 0;
    const std::vector<CallSites> calls = backward_order(sites);
    if (weights_) weights_->begin_pass(Pass::backward, joined(calls));
    for (const CallSites call : calls) {
      if (is_given_up_here() && done >= abort_->after_uses) return;
      done += static_cast<std::int32_t>(call.size());
      recompute_once(call.front(), sites, recomputed);
      unshard_once(call.front(), gathered);
      for (const UseSite& site : call) {
        if (weights_) weights_->use(site);
      }
      if (job_.lapse == Lapse::counts_early) count_distributed(call.front());
      producers_.backward(call, *owner_);
      if (job_.lapse != Lapse::counts_early) count_distributed(call.front());
      for (const UseSite& site : call) {
        if (!is_last_use(site) || !has_hook(scenario_, site.parameter)) continue;
        if (delayed || producers_.has_queued(site.parameter) || is_hook_postponed(job_, site.parameter))
          waiting.push_back(site.parameter);
        else
          hook(site.parameter);
      }
    }
    if (is_given_up_here()) return;
    producers_.drain(*owner_);
    if (last) producers_.drain_deferred(*owner_);
    for (std::int32_t parameter : waiting) hook(parameter);
  }

  /// On the way back: autograd calls the hook after it.
  bool is_last_use(const UseSite& site) const {
    return site.use == 0 && is_trained(job_.parameter(site.parameter), job_.step);
  }

  /// The producer of a distributed weight tells the owner itself.
  void count_distributed(const UseSite& site) {
    if (site.producer != Producer::distributed || !is_last_use(site)) return;
    if (job_.lapse == Lapse::hooks_distributed) run_hook(job_, *owner_, site.parameter);
    owner_->parameter_done(site.parameter);
  }

  /// Calls, the last of forward first; the members of one stay in forward order.
  std::vector<CallSites> backward_order(const std::vector<UseSite>& sites) const {
    std::vector<CallSites> calls;
    for (std::size_t last = sites.size(), first = last; first > 0; last = first) {
      do --first;
      while (scenario_.uses[static_cast<std::size_t>(sites[first].position)].grouped);
      calls.emplace_back(sites.data() + first, last - first);
    }
    return calls;
  }

  static std::vector<UseSite> joined(const std::vector<CallSites>& calls) {
    std::vector<UseSite> sites;
    for (const CallSites call : calls) sites.insert(sites.end(), call.begin(), call.end());
    return sites;
  }

  void hook(std::int32_t parameter) {
    run_hook(job_, *owner_, parameter);
    owner_->parameter_done(parameter);
  }

  std::int32_t unit_of(const UseSite& site) const {
    return unit_of_use(scenario_, static_cast<std::size_t>(site.position));
  }

  void unshard_once(const UseSite& site, std::set<std::int32_t>& gathered) {
    if (gathered.insert(unit_of(site)).second) owner_->unshard(unit_of(site));
  }

  /// The forward of the use's unit runs again before the unit's backward, with whatever today's owners and
  /// producers do in forward.
  void recompute_once(const UseSite& of, const std::vector<UseSite>& sites,
                      std::set<std::int32_t>& recomputed) {
    const std::int32_t unit = unit_of(of);
    if (!is_recomputed(scenario_, unit) || !recomputed.insert(unit).second) return;
    mark(BeginRecompute{unit});
    owner_->unshard(unit);
    for (const UseSite& site : sites) {
      if (unit_of(site) == unit) producers_.forward(site);
    }
    mark(EndRecompute{});
  }

  /// The uses of trainable parameters in forward order, with the ranks that have them now. A parameter that
  /// has not thawed yet is gathered like any other, and has its uses nowhere.
  std::vector<UseSite> sites_of_microbatch() const {
    std::vector<UseSite> sites;
    std::vector<std::int32_t> seen(scenario_.parameters.size());
    for (std::size_t i = 0; i < scenario_.uses.size(); ++i) {
      const ScenarioUse& use = scenario_.uses[i];
      UseSite site{static_cast<std::int32_t>(i),
                   use.parameter,
                   seen[static_cast<std::size_t>(use.parameter)]++,
                   use.producer,
                   job_.microbatch,
                   {}};
      if (!job_.parameter(use.parameter).trainable) continue;
      for (Rank rank : job_.ranks_of(use.parameter)) {
        if (is_used(scenario_, use.parameter, job_.step, rank.value, job_.microbatch))
          site.ranks.push_back(rank);
      }
      sites.push_back(std::move(site));
    }
    return sites;
  }

  void mark(Action action) {
    job_.build.op(action, job_.why(Purpose::none), Stream::compute, job_.all_ranks);
  }

  const Scenario& scenario_;
  const Abort* abort_ = nullptr;  // that ends the current attempt
  Job job_;
  std::unique_ptr<Owner> owner_;
  Producers producers_;
  std::optional<Fp8Weights> weights_;
};

}  // namespace

Planned plan_of(const Scenario& scenario) {
  return plan_of(scenario, Lapse::none);
}

Planned plan_of(const Scenario& scenario, Lapse lapse) {
  Planned planned = Loop(scenario, lapse).run();
  declare_types(planned.plan, scenario);
  return planned;
}

}  // namespace shardcheck
