#include "properties/diagnosis/plan_repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/contract/monitor.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostOps = 24;  // around the finding
constexpr std::size_t kMostRepairs = 3;
constexpr double kMostJudged = 2e7;  // ops, in all trials

/// Ops that make or move what the finding's weight lives in, before the finding and at it, and those that
/// follow in the same step.
std::vector<std::int32_t> relevant_ops(const Plan& plan, const Finding& finding) {
  std::vector<std::int32_t> before, after;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const Purpose purpose = op.why.purpose;
    const bool is_life = purpose == Purpose::weights || purpose == Purpose::consume;
    const bool is_its = op.why.parameter.value < 0 || op.why.parameter.value == finding.parameter;
    const bool moves = op.operands > 0 && !std::holds_alternative<Allocate>(op.action);
    if (i == finding.op.value || (is_life && is_its && moves))
      (i <= finding.op.value ? before : after).push_back(i);
  }
  if (before.size() > kMostOps)
    before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(kMostOps));
  after.resize(std::min(after.size(), kMostOps / 2));
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

class Trials {
 public:
  Trials(const Plan& plan, const Finding& finding)
      : plan_(plan),
        finding_(finding),
        budget_(kMostJudged / std::max<double>(1, static_cast<double>(plan.ops.size()))) {}

  /// `change` rewrites the ops; `sentence` says so.
  template <class Change>
  void attempt(const std::string& sentence, Change change) {
    if (--budget_ < 0 || holds_.size() >= kMostRepairs) return;
    Plan changed = plan_;
    change(changed);
    const auto left = judge(changed);
    if (left.empty()) {
      holds_.push_back(sentence + " the plan holds");
    } else if (left.front().op.value > finding_.op.value + 2) {
      later_.push_back(fmt::format("{} it holds up to op {}", sentence, left.front().op.value));
    }
  }
  std::vector<std::string> take() {
    std::vector<std::string>& best = holds_.empty() ? later_ : holds_;
    best.resize(std::min(best.size(), kMostRepairs));
    return std::move(best);
  }

 private:
  const Plan& plan_;
  const Finding& finding_;
  double budget_;
  std::vector<std::string> holds_, later_;
};

std::string named(const Plan& plan, std::int32_t index) {
  return fmt::format("op {} ({})", index, describe(plan, plan.ops[static_cast<std::size_t>(index)]));
}

/// Op `from` stands before op `to` of the old numbering.
void move_before(std::vector<Op>& ops, std::int32_t from, std::int32_t to) {
  const Op op = ops[static_cast<std::size_t>(from)];
  ops.erase(ops.begin() + from);
  ops.insert(ops.begin() + (from < to ? to - 1 : to), op);
}

/// The ranks of op `later` wait with it for what they did on the other stream up to `earlier`.
void add_edge(Plan& plan, std::int32_t earlier, std::int32_t later) {
  Op wait = plan.ops[static_cast<std::size_t>(later)], record = wait;
  const EventId event{plan.events++};
  record.action = Record{event};
  record.stream = plan.ops[static_cast<std::size_t>(earlier)].stream;
  wait.action = Wait{event};
  record.operands = wait.operands = 0;
  plan.ops.insert(plan.ops.begin() + later, wait);
  plan.ops.insert(plan.ops.begin() + earlier + 1, record);
}

/// True for what a life can do without, where it is done twice or too early.
bool is_spare(const Op& op) {
  return std::holds_alternative<QuantizeBlocks>(op.action) || std::holds_alternative<TakeAmax>(op.action) ||
         std::holds_alternative<CloseDelayedStep>(op.action) || std::holds_alternative<Undefine>(op.action) ||
         std::holds_alternative<Copy>(op.action);
}
/// The same act on other ranks or in the other direction: ops of one kind and reason that follow each other.
std::pair<std::int32_t, std::int32_t> run_of(const Plan& plan, std::int32_t index) {
  const auto is_like = [&](std::int32_t i) {
    const Op &a = plan.ops[static_cast<std::size_t>(i)], &b = plan.ops[static_cast<std::size_t>(index)];
    return a.action.index() == b.action.index() && a.why.parameter == b.why.parameter &&
           a.why.step == b.why.step && a.why.purpose == b.why.purpose;
  };
  std::int32_t first = index, last = index + 1;
  while (first > 0 && is_like(first - 1)) --first;
  while (last < static_cast<std::int32_t>(plan.ops.size()) && is_like(last)) ++last;
  return {first, last};
}
/// True for what can be done again without harm.
bool is_repeatable(const Op& op) {
  return std::holds_alternative<DeriveColumnCopy>(op.action) ||
         std::holds_alternative<Communicate>(op.action);
}

}  // namespace

std::vector<std::string> plan_repairs(const Plan& plan, const Finding& finding) {
  const auto count = static_cast<std::int32_t>(plan.ops.size());
  const std::int32_t broken = finding.op.value;
  if (broken < 0 || broken >= count) return {};
  const auto op = [&](std::int32_t i) -> const Op& { return plan.ops[static_cast<std::size_t>(i)]; };
  const std::vector<std::int32_t> ops = relevant_ops(plan, finding);
  Trials trials(plan, finding);
  for (auto i = ops.rbegin(); i != ops.rend(); ++i) {
    if (*i >= broken || op(*i).stream == op(broken).stream) continue;
    trials.attempt(fmt::format("with a wait of {} for what is before op {}", named(plan, broken), *i + 1),
                   [&](Plan& changed) { add_edge(changed, *i, broken); });
  }
  for (const std::int32_t i : ops) {
    if (!is_spare(op(i))) continue;
    const auto [first, last] = run_of(plan, i);
    if (i != first) continue;
    trials.attempt(
        fmt::format("without {}{}", named(plan, i),
                    last - first > 1 ? fmt::format(" and the {} like it behind it", last - first - 1) : ""),
        [&](Plan& changed) { changed.ops.erase(changed.ops.begin() + first, changed.ops.begin() + last); });
  }
  const bool is_use = op(broken).why.purpose >= Purpose::forward;
  for (const std::int32_t j : ops) {
    if (j <= broken || op(j).why.step != op(broken).why.step) continue;
    trials.attempt(fmt::format("with {} before op {}", named(plan, j), broken),
                   [&](Plan& changed) { move_before(changed.ops, j, broken); });
    if (is_use) continue;
    trials.attempt(fmt::format("with op {} after {}", broken, named(plan, j)),
                   [&](Plan& changed) { move_before(changed.ops, broken, j + 1); });
  }
  for (const std::int32_t i : ops) {
    if (i >= broken || !is_repeatable(op(i))) continue;
    trials.attempt(fmt::format("with {} once more before op {}", named(plan, i), broken), [&](Plan& changed) {
      changed.ops.insert(changed.ops.begin() + broken, changed.ops[static_cast<std::size_t>(i)]);
    });
  }
  return trials.take();
}

}  // namespace shardcheck
