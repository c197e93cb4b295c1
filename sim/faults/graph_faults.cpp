// Faults of captured graphs (W35): what a capture baked in, what a replay's wrapper leaves out, and what the
// next replay overwrites. The missing wait for a replay is M-E16 of edge_faults.cpp.
#include <map>
#include <set>

#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_of_first(const Op& op) {
  return op.why.parameter.value == 0;
}
/// A product of the first parameter that a graph holds.
bool is_captured(const Op& op) {
  return is_of_first(op) && op.stream == Stream::graph && std::holds_alternative<Gemm>(op.action);
}

/// The graph was captured in the first microbatch of a producer that overwrites there.
bool beta_of_first_microbatch(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_captured(edit.op(i)) || !std::get<Gemm>(edit.op(i).action).accumulate) continue;
    std::get<Gemm>(edit.change(i).action).accumulate = false;
    edit.change(i).why.rule = BetaRule::captured;
  }
  return edit.commit();
}

/// What the graph returns is the gradient itself, and a replay does not run the line that raises the flag:
/// the hook takes it for one that is not in the destination yet.
bool flag_not_set_by_replay(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const std::string& name = planned.plan.parameters[0].name;
  const auto held = std::ranges::find(planned.plan.buffers, name + ".grad", &Buffer::name);
  if (held == planned.plan.buffers.end()) return false;
  const View returned{BufferId{static_cast<std::int32_t>(held - planned.plan.buffers.begin())}, 0,
                      held->numel};
  View destination{};  // whole, of the products since the last hook
  Op recorded{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_of_first(op)) continue;
    if (is_captured(op)) {
      const View written = edit.view(op, 2);  // the rows of one expert
      if (destination.numel == 0) destination = {written.buffer, written.offset, held->numel};
      const View part{returned.buffer, written.offset - destination.offset, written.numel};
      Op again = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
        return operand == 2 ? part : edit.view(op, operand, r);
      });
      std::get<Gemm>(again.action).accumulate = false;
      edit.insert_after(i, again);
    }
    if (op.stream == Stream::graph && std::holds_alternative<Record>(op.action)) recorded = op;
    if (std::holds_alternative<Flag>(op.action)) edit.erase(i);
    if (std::holds_alternative<Return>(op.action)) edit.change(i).action = Return{Returned::real};
    if (!std::holds_alternative<Hook>(op.action) || recorded.ranks == 0) continue;
    edit.change(i).action = Hook{HookAction::add};
    Op wait = op;
    wait.action = Wait{std::get<Record>(recorded.action).event};
    edit.insert_before(i, wait);
    Op fold = edit.with_views(
        op, 2, [&](std::int8_t side, std::int32_t) { return side == 0 ? returned : destination; });
    fold.action = Add{};
    fold.why.purpose = Purpose::fold;
    edit.insert_after(i, fold);
    destination = {};
  }
  return edit.commit();
}

/// Autograd holds the buffer that every replay writes; the hook comes to it when the next microbatch has been
/// replayed.
bool gradient_aliases_static_buffer(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::set<BufferId> statics;
  View replayed{};
  std::map<std::int32_t, std::vector<std::int32_t>> folds;  // a microbatch of the step: not come to yet
  const auto come_to = [&](std::int32_t at, std::int32_t microbatch) {
    for (const std::int32_t fold : folds[microbatch]) {
      edit.insert_after(at, edit.op(fold));
      edit.erase(fold);
    }
    folds.erase(microbatch);
  };
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (std::holds_alternative<BeginStep>(op.action)) folds.clear();
    if (is_captured(op)) statics.insert(edit.view(op, 2).buffer);
    if (!is_of_first(op) || statics.empty()) continue;
    const bool copies = std::holds_alternative<Copy>(op.action) && statics.contains(edit.view(op, 0).buffer);
    if (copies) {
      replayed = edit.view(op, 0);
      edit.erase(i);
      come_to(i, op.why.microbatch - 1);
    }
    if (op.why.purpose != Purpose::fold) continue;
    edit.change(i) = edit.with_views(
        op, 2, [&](std::int8_t side, std::int32_t r) { return side == 0 ? replayed : edit.view(op, 1, r); });
    folds[op.why.microbatch].push_back(i);
  }
  return edit.commit();
}

void replayed(Scenario& s) {
  prepare::fused(s);
  prepare::two_microbatches(s);
  s.fp8.reset();
  s.execution = Execution::graph;
}
void replayed_anywhere(Scenario& s) {
  prepare::reference(s);
  replayed(s);
}
void replayed_persistent(Scenario& s) {
  prepare::persistent(s);
  replayed(s);
}
/// The first weight returns its gradient; another one is fused.
void replayed_unfused(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::unfused});
  prepare::fusing_owner(s);
  prepare::two_microbatches(s);
  s.fp8.reset();
  s.execution = Execution::graph;
  const auto is_fused = [&](const ScenarioUse& use) { return use.producer == Producer::fused; };
  if (std::ranges::any_of(s.uses, is_fused)) return;
  s.uses.push_back({static_cast<std::int32_t>(s.parameters.size()), Producer::fused, -1});
  s.parameters.push_back({.name = "beside", .shape = {2, 12}});
}

}  // namespace

void add_graph_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-12", "NVIDIA/TransformerEngine#2715",
           "a graph captured in the first microbatch replays beta = 0", "W35", replayed_persistent,
           beta_of_first_microbatch},
          {"B-22", "NVIDIA/TransformerEngine#1204",
           "a replay does not set the flag, so the hook adds the gradient that is in main_grad already",
           "W35", replayed_anywhere, flag_not_set_by_replay},
          {"B-23", "NVIDIA/TransformerEngine#2937",
           "the gradient that a replay returns is overwritten by the next replay before it is added", "W35",
           replayed_unfused, gradient_aliases_static_buffer},
      });
}

}  // namespace shardcheck
