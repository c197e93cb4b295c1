// A planned step against the plan of the same job for all of its ranks: the same ops on gradients, in the
// same order, the same bytes sent and the same buffers, on every rank.
#include "sim/cost/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/layout/registry.h"
#include "sim/planner/planner.h"

namespace shardcheck::cost {
namespace {

/// Work on gradients, and how many elements it touches.
using Done = std::pair<Work, std::int64_t>;

struct Seen {
  std::vector<Done> ops;  ///< without zeroing, which an owner may do for several buckets at once
  std::int64_t zeroed = 0;
  double sent = 0;                                             ///< bytes of reductions
  double gradients = 0, staging = 0, leases = 0, masters = 0;  ///< bytes
};

std::optional<Work> work_of(const Op& op) {
  switch (op.why.purpose) {
    case Purpose::zero: return Work::zero;
    case Purpose::scale: return Work::scale;
    case Purpose::stage: return Work::stage;
    case Purpose::unstage: return Work::unstage;
    case Purpose::accumulate: return Work::accumulate;
    case Purpose::consume: return Work::optimizer;
    default: break;
  }
  const auto* communicate = std::get_if<Communicate>(&op.action);
  if (communicate == nullptr) return std::nullopt;
  const bool all = communicate->collective == Collective::all_reduce;
  if (op.why.purpose == Purpose::reduce_outer)
    return all ? Work::outer_all_reduce : Work::outer_reduce_scatter;
  if (op.why.purpose != Purpose::reduce) return std::nullopt;
  return communicate->collective == Collective::all_reduce ? Work::all_reduce : Work::reduce_scatter;
}

double sent_by(const Plan& plan, const Op& op, std::size_t at) {
  const auto& communicate = std::get<Communicate>(op.action);
  const View in = plan.operand(op, 0)[at], out = plan.operand(op, 1)[at];
  const auto whole = static_cast<double>(in.numel);
  const double width = bytes_of(plan.buffer(in.buffer).dtype);
  if (communicate.collective == Collective::all_reduce)
    return 2 * (whole - whole / communicate.group) * width;
  return static_cast<double>(in.numel - out.numel) * width;
}

Seen seen_in(const Plan& plan, Rank rank, std::int16_t step) {
  Seen seen;
  for (const Op& op : plan.ops) {
    const auto work = op.why.step == step ? work_of(op) : std::nullopt;
    const auto ranks = plan.ranks_of(op);
    const auto at = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    if (!work || at == ranks.size()) continue;
    const std::int64_t elements = plan.operand(op, 0)[at].numel;
    if (*work == Work::zero) {
      seen.zeroed += elements;
      continue;
    }
    if (std::holds_alternative<Communicate>(op.action)) seen.sent += sent_by(plan, op, at);
    // An accumulation is counted by what it reads of the wire's buffer, as a planned step counts it.
    seen.ops.emplace_back(*work, elements);
  }
  for (const Buffer& buffer : plan.buffers) {
    const double bytes = static_cast<double>(buffer.numel) * bytes_of(buffer.dtype);
    const bool is_partial = buffer.name.starts_with("partial.");
    const bool is_sum = buffer.role == BufferRole::main_grad || buffer.role == BufferRole::shard;
    if (is_sum && !is_partial) seen.gradients += bytes;
    if (buffer.role == BufferRole::staging || is_partial) seen.staging += bytes;
    if (buffer.role == BufferRole::lease_slot) seen.leases += bytes;
    if (buffer.role == BufferRole::master) seen.masters += bytes;
  }
  return seen;
}

bool is_on_gradients(Work work) {
  return work >= Work::stage && work != Work::outer_gather;
}

Seen seen_in(const StepJob& job) {
  Seen seen;
  const StepFigures figures = plan_step(job, [&](const StepOp& op) {
    if (op.work == Work::zero) seen.zeroed += op.elements;
    if (!is_on_gradients(op.work)) return;
    seen.ops.emplace_back(op.work, op.elements);
    seen.sent += op.sent;
  });
  seen.gradients = figures.memory.gradients;
  seen.staging = figures.memory.staging;
  seen.leases = figures.memory.leases;
  seen.masters = figures.memory.optimizer;
  return seen;
}

std::vector<layout::Parameter> parameters_of(const Scenario& s) {
  std::vector<layout::Parameter> parameters;
  for (const ScenarioParameter& p : s.parameters) {
    parameters.push_back({.name = p.name, .shape = p.shape, .dtype = p.dtype});
    parameters.back().expert = p.expert;
    parameters.back().unit = p.unit;
  }
  return parameters;
}

layout::Mesh mesh_of(const Scenario& s) {
  using layout::AxisUse;
  if (s.outer == 1) return layout::mesh_of(s.ranks);
  const AxisUse use = s.outer_mode == OuterMode::shard ? AxisUse::shard : AxisUse::replicate;
  return {{{"outer", s.outer, use}, {"inner", s.ranks / s.outer, AxisUse::shard}}};
}

/// What the scenario says, seen from one rank.
class SameJob {
 public:
  SameJob(const Scenario& scenario, const System& system, Rank rank) : parameters_(parameters_of(scenario)) {
    const std::int32_t world = scenario.ranks, ep = scenario.expert_parallel;
    layout::Configuration configuration{.expert_world = world / ep};
    if (scenario.bucket_size > 0) configuration.bucket_size = scenario.bucket_size;
    configuration.strategy = static_cast<layout::FsdpStrategy>(system.sharded);
    const layout::Mesh mesh = mesh_of(scenario);
    const OuterAxis outer = outer_axis_of(system, mesh);
    const auto layout = layout::layout_named(system.layout, parameters_, mesh, configuration);
    std::vector<Rank> ranks;
    const Rank shard = layout::shard_of(mesh, rank);
    for (const layout::Buffer& buffer : layout.buffers)
      ranks.push_back(Rank{buffer.key.expert ? shard.value / ep : shard.value});
    pieces_ = pieces_of(layout, parameters_, ranks, {.sharded = system.sharded, .grain = system.grain});
    job_ = {.system = &system,
            .outer = outer,
            .parameters = parameters_,
            .pieces = pieces_,
            .dense = groups_of(mesh, {.outer = outer}),
            .expert = groups_of(mesh, {.outer = outer, .expert = ep}),
            .widths = {.gradient = static_cast<double>(bytes_of(scenario.main_grad)),
                       .optimizer = 4,  // a scenario steps an f32 master, without moments
                       .gradient_wire = static_cast<double>(bytes_of(scenario.comm))},
            .microbatches = scenario.microbatches,
            .tokens = 1,
            .slots = scenario.slots};
  }
  const StepJob& job() const { return job_; }

 private:
  std::vector<layout::Parameter> parameters_;
  std::vector<Piece> pieces_;
  StepJob job_;
};

/// Five matrices and a vector in three units.
Scenario scenario_of(const System& system, std::int32_t ranks) {
  Scenario s;
  s.ranks = ranks;
  for (int i = 0; i < shardcheck::kStrategies; ++i) {
    const auto strategy = static_cast<shardcheck::Strategy>(i);
    if (shardcheck::name_of(strategy) == system.name) s.strategy = strategy;
  }
  s.write_mode = WriteMode::r7;
  if (!system.scales) s.scaling = Scaling::in_collective;
  s.parameters = {{.name = "a", .shape = {12, 8}},           {.name = "b", .shape = {16}},
                  {.name = "c", .shape = {8, 6}, .unit = 1}, {.name = "d", .shape = {5, 6}, .unit = 1},
                  {.name = "e", .shape = {7, 8}, .unit = 2}, {.name = "f", .shape = {16, 8}, .unit = 2}};
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p)
    s.uses.push_back({.parameter = p, .producer = Producer::unfused});
  s.microbatches = 3;
  return s;
}

/// Sums by kind of work, where two plans cut what they move differently.
std::map<Work, std::int64_t> sums(const Seen& seen) {
  std::map<Work, std::int64_t> by_work;
  for (const auto& [work, elements] : seen.ops) by_work[work] += elements;
  return by_work;
}

void expect_equal(const Scenario& scenario, const System& system) {
  const Planned planned = plan_of(scenario);
  for (std::int32_t r = 0; r < scenario.ranks; ++r) {
    const SameJob same(scenario, system, Rank{r});
    Seen all = seen_in(planned.plan, Rank{r}, 1), one = seen_in(same.job());
    const std::string where =
        std::string(system.name) + ", rank " + std::to_string(r) + " of " + std::to_string(scenario.ranks);
    EXPECT_EQ(sums(one), sums(all)) << where;
    if (system.grain != Grain::bucket) {
      // The scenario's owner reduces a whole buffer at once.
      one.ops = all.ops = {};
      one.leases = all.leases = 0;
    }
    EXPECT_EQ(one.ops, all.ops) << where;
    EXPECT_EQ(one.zeroed, all.zeroed) << where;
    EXPECT_EQ(one.sent, all.sent) << where;
    EXPECT_EQ(one.gradients, all.gradients) << where;
    EXPECT_EQ(one.staging, all.staging) << where;
    EXPECT_EQ(one.leases, all.leases) << where;
    EXPECT_EQ(one.masters, all.masters) << where;
  }
}

/// Systems whose strategy scenarios know.
std::vector<const System*> simulated() {
  std::vector<const System*> found;
  for (const System& system : systems()) {
    for (int i = 0; i < shardcheck::kStrategies; ++i) {
      if (shardcheck::name_of(static_cast<shardcheck::Strategy>(i)) == system.name) found.push_back(&system);
    }
  }
  return found;
}

TEST(Step, IsThatOfEveryRankOfAFullPlan) {
  ASSERT_GE(simulated().size(), 6u);
  for (const System* system : simulated()) {
    for (const std::int32_t ranks : {1, 2, 3, 4, 8}) expect_equal(scenario_of(*system, ranks), *system);
  }
}

TEST(Step, IsThatOfAFullPlanWithAnotherTypeOnTheWire) {
  for (const System* system : simulated()) {
    Scenario s = scenario_of(*system, 4);
    s.comm = DType::bf16;
    expect_equal(s, *system);
  }
}

TEST(Step, IsThatOfAFullPlanInSmallBuckets) {
  for (const std::string_view name : {"megatron-ddp", "megatron-ddp-zero1"}) {
    const System* system = find_system(name);
    Scenario s = scenario_of(*system, 4);
    s.bucket_size = 100;
    expect_equal(s, *system);
  }
}

TEST(Step, IsThatOfAFullPlanOnAHybridMesh) {
  for (const std::string_view name : {"megatron-fsdp-v1/optim_grads_params", "megatron-fsdp-v2", "fsdp2"}) {
    for (const OuterMode mode : {OuterMode::replicate, OuterMode::shard}) {
      if (name == "fsdp2" && mode == OuterMode::shard) continue;  // it shards along one axis
      Scenario s = scenario_of(*find_system(name), 8);
      s.outer = 2;
      s.outer_mode = mode;
      expect_equal(s, *find_system(name));
    }
  }
}

TEST(Step, ReducesExpertsInTheirOwnGroup) {
  for (const System* system : simulated()) {
    if (!system->name.starts_with("megatron-ddp") && !system->name.starts_with("megatron-fsdp-v1")) continue;
    Scenario s = scenario_of(*system, 8);
    s.expert_parallel = 4;
    s.parameters[2].expert = s.parameters[5].expert = true;
    expect_equal(s, *system);
  }
}

}  // namespace
}  // namespace shardcheck::cost
