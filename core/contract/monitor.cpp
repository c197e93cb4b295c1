#include "core/contract/monitor.h"

#include <algorithm>
#include <optional>

#include "core/contract/class_rules.h"
#include "core/contract/life_rules.h"
#include "core/contract/ordering.h"
#include "core/contract/rank_symmetry.h"
#include "core/contract/recompute_rules.h"
#include "core/contract/reporter.h"
#include "core/contract/signalling.h"

namespace shardcheck {

namespace {

bool recomputes(const Plan& plan) {
  return std::ranges::any_of(plan.ops,
                             [](const Op& op) { return std::holds_alternative<BeginRecompute>(op.action); });
}

}  // namespace

std::vector<Finding> judge(const Plan& plan, std::span<const OpIndex> executed) {
  Reporter reporter(plan);
  Signalling signalling(plan, reporter);
  std::optional<RecomputeRules> recompute;
  if (recomputes(plan)) recompute.emplace(plan, reporter);
  ClassRules rules(plan, reporter);
  std::optional<LifeRules> life;
  if (!plan.weight_copies.empty()) life.emplace(plan, executed, reporter);
  for (OpIndex index : executed) {
    reporter.begin_op(index);
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    if (recompute) recompute->apply(op);
    signalling.apply(op);
    rules.apply(index, signalling.hook_reported());
    if (life) life->apply(index);
  }
  return reporter.take();
}

std::vector<Finding> judge(const Plan& plan) {
  std::vector<OpIndex> all(plan.ops.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = OpIndex{static_cast<std::int32_t>(i)};
  std::vector<Finding> findings = judge_symmetry(plan);
  for (Finding& finding : judge(plan, all)) findings.push_back(std::move(finding));
  if (findings.empty()) findings = judge_order(plan);
  return findings;
}

std::vector<std::string> history_of_weight(const Plan& plan, ParamId parameter, OpIndex end) {
  std::vector<OpIndex> all(static_cast<std::size_t>(end.value));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = OpIndex{static_cast<std::int32_t>(i)};
  Reporter reporter(plan);
  LifeRules life(plan, all, reporter);
  for (const OpIndex index : all) {
    reporter.begin_op(index);
    life.apply(index);
  }
  return life.history_of(parameter);
}

}  // namespace shardcheck
