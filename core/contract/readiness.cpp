#include "core/contract/readiness.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardcheck {

Readiness::Readiness(const Plan& plan, Reporter& reporter) : plan_(plan), reporter_(reporter) {
  is_told_ =
      std::ranges::any_of(plan.ops, [](const Op& op) { return std::holds_alternative<Ready>(op.action); });
  if (is_told_) windows_.resize(static_cast<std::size_t>(plan.ranks) * plan.parameters.size());
}

void Readiness::apply(OpIndex index) {
  if (!is_told_) return;
  const Op& op = plan_.ops[static_cast<std::size_t>(index.value)];
  const bool begins = std::holds_alternative<BeginStep>(op.action);
  if (begins || std::holds_alternative<Interrupt>(op.action))
    std::ranges::fill(windows_, Window{});
  else if (std::holds_alternative<BeginMicrobatch>(op.action))
    begin_microbatch();
  else if (std::holds_alternative<Ready>(op.action))
    count(op, index);
  else if (op.why.purpose == Purpose::write || op.why.purpose == Purpose::fold || adds_shard(op))
    write(op, index);
  else if (op.why.purpose == Purpose::reduce && std::holds_alternative<Communicate>(op.action))
    launch(op, index);
  else if (std::holds_alternative<CloseLease>(op.action))
    close(op, index);
}

void Readiness::breach(Rank rank, ParamId parameter, OpIndex op, const std::string& sentence) {
  const OpIndex current = reporter_.op();
  reporter_.begin_op(op);
  reporter_.report("W20", rank, Reporter::Place{parameter, 0}, sentence);
  reporter_.begin_op(current);
  at(rank, parameter).reported = true;
}

/// True for what the producer of a distributed weight adds to main_grad.
bool Readiness::adds_shard(const Op& op) const {
  return op.why.purpose == Purpose::accumulate && op.why.parameter.value >= 0;
}

void Readiness::begin_microbatch() {
  std::size_t slot = 0;  // by rank, then by parameter
  for (Window& window : windows_) {
    const bool is_hooked = plan_.parameters[slot++ % plan_.parameters.size()].hooked;
    if ((window.counted.value >= 0 || !is_hooked) && window.launched.value >= 0) window = Window{};
  }
}

void Readiness::count(const Op& op, OpIndex index) {
  for (const Rank rank : plan_.ranks_of(op)) {
    Window& window = at(rank, op.why.parameter);
    if (window.launched.value >= 0 && window.counted.value < 0 && !window.reported) {
      breach(rank, op.why.parameter, window.launched,
             fmt::format("is done with a parameter before op {} counts it as ready", index.value));
    }
    window.counted = index;
  }
}

void Readiness::write(const Op& op, OpIndex index) {
  if (op.operands == 0 || op.why.parameter.value < 0) return;
  const BufferRole role = plan_.buffer(plan_.operand(op, op.operands - 1)[0].buffer).role;
  const PlanParameter& parameter = plan_.parameters[static_cast<std::size_t>(op.why.parameter.value)];
  const bool is_hooked = parameter.hooked;
  if (role == BufferRole::param_grad || parameter.numel() == 0)
    return;  // no reduction shows when an empty one is done
  for (const Rank rank : plan_.ranks_of(op)) {
    Window& window = at(rank, op.why.parameter);
    window.written = true;
    if (window.reported) continue;
    if (!is_hooked && window.launched.value >= 0) {
      breach(rank, op.why.parameter, window.launched,
             fmt::format("reduces a parameter that no hook counts as ready before op {} has written its "
                         "gradient ({})",
                         index.value, describe(plan_, op)));
    }
    if (window.counted.value < 0 || window.reported) continue;
    breach(rank, op.why.parameter, window.counted,
           fmt::format("counts a parameter as ready before op {} has written "
                       "its gradient ({})",
                       index.value, describe(plan_, op)));
  }
}

/// Calls visit(rank, parameter) for all parameters in operand 0.
template <class Visit>
void Readiness::each_parameter(const Op& op, Visit visit) {
  const auto ranks = plan_.ranks_of(op);
  const auto views = plan_.operand(op, 0);
  std::vector<Reporter::Place> inside;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 0 || !(views[i] == views[i - 1])) inside = reporter_.places(ranks[i], views[i]);
    for (const Reporter::Place& place : inside) visit(ranks[i], place.parameter);
  }
}

void Readiness::launch(const Op& op, OpIndex index) {
  each_parameter(op, [&](Rank rank, ParamId parameter) {
    Window& window = at(rank, parameter);
    const bool is_hooked = plan_.parameters[static_cast<std::size_t>(parameter.value)].hooked;
    if (window.written && window.counted.value < 0 && is_hooked && !window.reported) {
      breach(rank, parameter, index,
             "reduces a parameter that has a gradient in this window and is "
             "not counted as ready");
    }
    window.launched = index;
  });
}

/// A group of one has no reduction: its window ends with the lease. That of a distributed weight is a
/// scratch, whose rows go on.
void Readiness::close(const Op& op, OpIndex index) {
  each_parameter(op, [&](Rank rank, ParamId parameter) {
    if (plan_.parameters[static_cast<std::size_t>(parameter.value)].shards > 0) return;
    Window& window = at(rank, parameter);
    if (window.launched.value < 0) window.launched = index;
  });
}

}  // namespace shardcheck
