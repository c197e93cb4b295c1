#include "sim/planner/planner.h"

#include <optional>
#include <set>

#include "sim/owners/hooks.h"
#include "sim/owners/owner.h"
#include "sim/producers/producer.h"
#include "sim/weights/fp8_weights.h"

namespace shardcheck {
namespace {

class Loop {
 public:
  explicit Loop(const Scenario& scenario)
      : scenario_(scenario), job_(scenario), owner_(make_owner(job_)), producers_(job_) {
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
    job_.microbatch = -1;
    mark(BeginStep{});
    owner_->begin_step();
    for (job_.microbatch = 0; job_.microbatch < scenario_.microbatches; ++job_.microbatch) microbatch();
    job_.microbatch = -1;
    owner_->finish();
    if (weights_) weights_->end_step();
    mark(EndStep{});
    if (weights_) between_steps();
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
    owner_->end_backward(job_.microbatch == scenario_.microbatches - 1);
  }

  void backward(const std::vector<UseSite>& sites) {
    const bool delayed = scenario_.execution == Execution::delayed;
    std::vector<std::int32_t> waiting;  // hooks that run when the queued writes are done
    std::set<std::int32_t> gathered;
    if (weights_) weights_->begin_pass(Pass::backward, {sites.rbegin(), sites.rend()});
    for (auto site = sites.rbegin(); site != sites.rend(); ++site) {
      unshard_once(*site, gathered);
      if (weights_) weights_->use(*site);
      producers_.backward(*site, *owner_);
      if (site->use > 0) continue;  // autograd calls the hook once, after the last use on the way back
      if (delayed || is_hook_postponed(job_, site->parameter))
        waiting.push_back(site->parameter);
      else
        hook(site->parameter);
    }
    producers_.drain(*owner_);
    for (std::int32_t parameter : waiting) hook(parameter);
  }

  void hook(std::int32_t parameter) {
    run_hook(job_, *owner_, parameter);
    owner_->parameter_done(parameter);
  }

  void unshard_once(const UseSite& site, std::set<std::int32_t>& gathered) {
    const std::int32_t unit = scenario_.uses[static_cast<std::size_t>(site.position)].unit;
    const std::int32_t of = unit >= 0 ? unit : job_.parameter(site.parameter).unit;
    if (gathered.insert(of).second) owner_->unshard(of);
  }

  /// The uses of trainable parameters in forward order, with the ranks that have them now.
  std::vector<UseSite> sites_of_microbatch() const {
    std::vector<UseSite> sites;
    std::vector<std::int32_t> seen(scenario_.parameters.size());
    for (std::size_t i = 0; i < scenario_.uses.size(); ++i) {
      const ScenarioUse& use = scenario_.uses[i];
      UseSite site{static_cast<std::int32_t>(i),
                   use.parameter,
                   seen[static_cast<std::size_t>(use.parameter)]++,
                   use.producer,
                   {}};
      if (!job_.parameter(use.parameter).trainable) continue;
      for (Rank rank : job_.all_ranks) {
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
  Job job_;
  std::unique_ptr<Owner> owner_;
  Producers producers_;
  std::optional<Fp8Weights> weights_;
};

}  // namespace

Planned plan_of(const Scenario& scenario) {
  return Loop(scenario).run();
}

}  // namespace shardcheck
