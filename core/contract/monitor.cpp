#include "core/contract/monitor.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/contract/class_rules.h"
#include "core/contract/life_rules.h"
#include "core/contract/ordering.h"
#include "core/contract/rank_symmetry.h"
#include "core/contract/readiness.h"
#include "core/contract/recompute_rules.h"
#include "core/contract/reporter.h"
#include "core/contract/roundings.h"
#include "core/contract/signalling.h"

namespace shardcheck {

namespace {

bool recomputes(const Plan& plan) {
  return std::ranges::any_of(plan.ops,
                             [](const Op& op) { return std::holds_alternative<BeginRecompute>(op.action); });
}

/// Both lists as one, cut to what a reader can use.
std::vector<Finding> in_order_of_ops(std::vector<Finding> findings, std::vector<Finding> more) {
  if (more.empty()) return findings;
  std::ranges::move(more, std::back_inserter(findings));
  std::ranges::stable_sort(findings, {}, &Finding::op);
  if (findings.size() > Reporter::kMost) findings.resize(Reporter::kMost);
  return findings;
}

}  // namespace

std::vector<Finding> judge(const Plan& plan, std::span<const OpIndex> executed) {
  Reporter reporter(plan);
  Signalling signalling(plan, reporter);
  std::optional<RecomputeRules> recompute;
  if (recomputes(plan)) recompute.emplace(plan, reporter);
  Readiness readiness(plan, reporter);
  ClassRules rules(plan, reporter);
  std::optional<LifeRules> life;
  if (!plan.weight_copies.empty()) life.emplace(plan, executed, reporter);
  for (OpIndex index : executed) {
    reporter.begin_op(index);
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    if (recompute) recompute->apply(op);
    signalling.apply(op);
    readiness.apply(index);
    rules.apply(index, signalling.hook_reported());
    if (life) life->apply(index);
  }
  return in_order_of_ops(reporter.take(), judge_roundings(plan, executed));
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
