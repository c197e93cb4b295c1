#include "tools/shardcheck/plan/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/error.h"
#include "core/layout/models/model_parallel.h"
#include "core/layout/models/named_models.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/plan/piece_labels.h"
#include "tools/shardcheck/plan/storage_words.h"

namespace shardcheck {
namespace {

using cost::OuterAxis;
using cost::Piece;
using cost::Sharded;
using cost::StepOp;
using layout::AxisUse;

constexpr std::size_t kMostKinds = 8;

const cost::System& system_named(const std::string& name) {
  if (const auto* system = cost::find_system(name)) return *system;
  std::vector<std::string> known;
  for (const auto& system : cost::systems()) known.emplace_back(system.name);
  throw bad_input("--strategy", unknown_name({name, "strategy", std::move(known), ""}));
}

double width_of(const std::string& name, const std::string& flag) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    if (name == name_of(type)) return bytes_of(type);
  }
  throw bad_input(flag, unknown_name({name, "type of gradients", {"bf16", "f16", "f32"}, ""}));
}

const cost::StoredAs& storage_named(const std::string& name) {
  if (const auto* storage = cost::find_storage(name)) return *storage;
  std::vector<std::string> known;
  for (const auto& storage : cost::storages()) known.emplace_back(storage.name);
  throw bad_input("--storage", unknown_name({name, "storage", std::move(known), ""}));
}

Question ask_for(const ModelPlanFlags& flags, const cost::System& system) {
  if (flags.mesh.empty() && flags.world == 0)
    throw bad_input("shardcheck plan --model", "how many ranks? Give --mesh dp=64 or --world 64");
  LayoutFlags asked{.model = flags.model, .layout = std::string(system.layout), .mesh = flags.mesh};
  asked.world = flags.world;
  asked.bucket_size = flags.bucket_size;
  asked.zero = static_cast<std::int64_t>(system.sharded);
  return ask(asked);
}

/// What a mesh may ask of the system.
void judge(const Question& question, const cost::System& system, OuterAxis outer) {
  const layout::Mesh& mesh = question.mesh.mesh;
  const bool has_copies = mesh.ranks_along(AxisUse::replicate) > 1;
  const auto sharding = std::ranges::count(mesh.axes, AxisUse::shard, &layout::Axis::use);
  if (has_copies && sharding > 1)
    throw bad_input("--mesh",
                    fmt::format("{} has an axis of copies and two that shard, and the cost of one outer "
                                "axis is known; flatten the sharding axes into one",
                                to_text(question.mesh)));
  if (has_copies && outer == OuterAxis::none && system.sharded != Sharded::nothing)
    throw bad_input("--mesh", fmt::format("{} has an axis of copies, and the cost of copies of {} is not in "
                                          "shard-layouts 5; make it part of dp",
                                          to_text(question.mesh), system.name));
  if (question.mesh.expert > 1 && sharding > 1)
    throw bad_input("--mesh", fmt::format("ep={} lies inside two sharding axes here; flatten them into one",
                                          question.mesh.expert));
  const auto frozen = std::ranges::find(question.parameters, false, &layout::Parameter::requires_grad);
  if (frozen != question.parameters.end())
    throw bad_input(
        question.model,
        fmt::format("{} is frozen, and plan --model prices models that train whole", frozen->name));
}

std::vector<Rank> ranks_in_buffers(const Question& question, const layout::Layout& layout, Rank rank) {
  std::vector<Rank> ranks;
  for (const layout::Buffer& buffer : layout.buffers) ranks.push_back(rank_in(question, buffer, rank));
  return ranks;
}

/// Experts of a layer, on all expert-parallel ranks together; 0 for a model without any.
std::int64_t experts_of(const Question& question) {
  std::set<std::int64_t> numbers;
  std::int64_t grouped = 0;
  for (const layout::Parameter& parameter : question.parameters) {
    if (!parameter.expert) continue;
    if (const auto number = layout::expert_in(parameter.name)) {
      numbers.insert(*number);
    } else if (parameter.shape.size() > 2) {
      grouped = std::max(grouped, parameter.shape.front());
    }
  }
  return std::max<std::int64_t>(grouped, std::ssize(numbers)) * question.mesh.expert;
}

/// Tokens that one expert sees when all experts see as many.
double expert_tokens(const ModelPlanFlags& flags, const Question& question, std::int64_t routed) {
  const std::int64_t experts = experts_of(question);
  if (experts == 0) return 0;
  if (routed > experts)
    throw bad_input("--routed", fmt::format("{}: a layer has {} experts", routed, experts));
  return static_cast<double>(flags.tokens * question.mesh.expert * routed) / static_cast<double>(experts);
}

cost::Widths widths_of(const ModelPlanFlags& flags) {
  const cost::StoredAs& storage = storage_named(flags.storage);
  return {.weight = storage.weight,
          .gradient = width_of(flags.main_grad, "--main-grad"),
          .weight_wire = storage.weight_wire,
          .gradient_wire = width_of(flags.dtype_wire, "--dtype-wire")};
}

cost::PieceOptions piece_options(const ModelPlanFlags& flags, const Question& question,
                                 const cost::System& system) {
  cost::PieceOptions options{.sharded = system.sharded, .grain = system.grain};
  if (!flags.bucket_size.empty())
    options.run = question.configuration.bucket_size.value_or(std::numeric_limits<std::int64_t>::max());
  return options;
}

cost::StepJob job_of(const ModelPlanFlags& flags, const ModelPlan& plan) {
  const Question& question = plan.question;
  const layout::Mesh& mesh = question.mesh.mesh;
  const double node = flags.network.node;
  const cost::Widths widths = widths_of(flags);
  return {.system = plan.system,
          .outer = plan.outer,
          .parameters = question.parameters,
          .dense = cost::groups_of(mesh, {.outer = plan.outer, .node = node}),
          .expert = cost::groups_of(mesh, {plan.outer, question.mesh.expert, node}),
          .widths = widths,
          .is_8bit = widths.weight_wire < 2,
          .reshards = !flags.keeps_gathered,
          .microbatches = flags.microbatches,
          .tokens = static_cast<double>(flags.tokens),
          .expert_tokens = expert_tokens(flags, question, plan.routed),
          .slots = static_cast<std::int32_t>(flags.slots),
          .network = flags.network,
          .gpu = flags.gpu};
}

/// Rows by kind of work and kind of piece, in the order of issue.
class Rows {
 public:
  Rows(const PieceLabels& labels, const StorageWords& words) : labels_(labels), words_(words) {}

  void add(const StepOp& op) {
    const std::int32_t kind = labels_.kind_of[static_cast<std::size_t>(op.piece)];
    const auto [found, is_new] = known_.try_emplace(std::pair(op.work, kind), rows.size());
    if (is_new) {
      rows.push_back({.work = op.work,
                      .lane = op.lane,
                      .what = labels_.names[static_cast<std::size_t>(kind)],
                      .ranks = op.ranks,
                      .reads = words_.reads(op.work),
                      .writes = words_.writes(op.work)});
    }
    PlanRow& row = rows[found->second];
    ++row.times;
    row.elements += op.elements;
    row.sent += op.sent;
    row.touched += op.touched;
    row.seconds += op.seconds;
    ++ops;
  }

  std::vector<PlanRow> rows;
  std::int64_t ops = 0;

 private:
  const PieceLabels& labels_;
  const StorageWords& words_;
  std::map<std::pair<cost::Work, std::int32_t>, std::size_t> known_;
};

bool are_alike(const PlanRole& a, const PlanRole& b) {
  const auto key = [](const PlanRole& role) {
    const cost::StepFigures& f = role.figures;
    return std::tuple(role.dense, role.experts, role.padding, f.memory.kept(), f.memory.peak(), f.sent,
                      f.seconds);
  };
  return key(a) == key(b);
}

PlanRole role_of(const Question& question, std::span<const Piece> pieces, Rank rank) {
  PlanRole role{.ranks = {rank.value}};
  for (const Piece& piece : pieces) {
    const bool is_expert = piece.expert && question.mesh.expert > 1;
    (is_expert ? role.experts : role.dense) += piece.held;
    role.padding += piece.own - piece.held;
  }
  return role;
}

void plan_rank(const ModelPlanFlags& flags, const layout::Layout& layout, Rank rank, ModelPlan& plan) {
  const Question& question = plan.question;
  const std::vector<Piece> pieces =
      cost::pieces_of(layout, question.parameters, ranks_in_buffers(question, layout, rank),
                      piece_options(flags, question, *plan.system));
  cost::StepJob job = job_of(flags, plan);
  job.pieces = pieces;
  PlanRole role = role_of(question, pieces, rank);
  if (plan.roles.empty()) {
    const PieceLabels labels = label_pieces(question, pieces, kMostKinds);
    const StorageWords words(*plan.system, flags.main_grad != flags.dtype_wire);
    Rows rows(labels, words);
    role.figures = cost::plan_step(job, [&](const StepOp& op) { rows.add(op); });
    plan.rows = std::move(rows.rows);
    plan.ops = rows.ops;
    plan.closed = cost::closed_form(job);
  } else {
    role.figures = cost::plan_step(job, nullptr);
  }
  const auto alike = std::ranges::find_if(plan.roles, [&](const PlanRole& r) { return are_alike(r, role); });
  if (alike == plan.roles.end()) {
    plan.roles.push_back(std::move(role));
  } else {
    alike->ranks.push_back(rank.value);
  }
}

}  // namespace

ModelPlan plan_model(const ModelPlanFlags& flags) {
  const cost::System& system = system_named(flags.strategy);
  ModelPlan plan{.question = ask_for(flags, system), .system = &system};
  plan.outer = cost::outer_axis_of(system, plan.question.mesh.mesh);
  judge(plan.question, system, plan.outer);
  const layout::NamedModel* model = layout::find_model(flags.model);
  if (experts_of(plan.question) > 0)
    plan.routed = flags.routed > 0 ? flags.routed : std::max(1, model == nullptr ? 1 : model->routed);
  const layout::Layout layout = answer(plan.question);
  const std::int32_t ranks = plan.question.ranks();
  for (const std::int32_t rank : std::set<std::int32_t>{0, ranks / 2, ranks - 1})
    plan_rank(flags, layout, Rank{rank}, plan);
  return plan;
}

double seconds_in_collectives(const ModelPlan& plan) {
  double seconds = 0;
  for (const PlanRow& row : plan.rows) seconds += row.ranks > 1 ? row.seconds : 0;
  return seconds;
}

std::vector<Compared> compare_strategies(ModelPlanFlags flags) {
  std::vector<Compared> all;
  for (const cost::System& system : cost::systems()) {
    Compared& compared = all.emplace_back(Compared{.system = &system});
    flags.strategy = system.name;
    try {
      compared.plan = plan_model(flags);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      compared.refusal = error.what();
    }
  }
  const bool none = std::ranges::none_of(all, [](const Compared& c) { return c.plan.has_value(); });
  if (none) throw Error(ErrorKind::bad_input, all.front().refusal);
  return all;
}

}  // namespace shardcheck
